import { Readable } from 'node:stream';
import { raw, type Sql, sql } from '../../infra/sql.ts';
import type { Table } from '../../infra/table.ts';
import { blocks, deadLetters } from '../../ingest/raw/tables.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { gate } from '../infra/ports/opened.ts';
import { openTestPipeline } from '../support/pipeline.ts';
import { rooted } from '../support/rooted.ts';

export interface Ingesting {
  readonly pipeline: Pipeline;
  /** Takes in lines under a file's name, which is that of their chain; made blocks begin as that chain does. */
  take(
    name: string,
    lines: readonly (string | object | Buffer)[],
  ): Promise<Awaited<ReturnType<Pipeline['ingest']>>>;
  /** Takes in the bytes of a file, packed ones too. */
  takeFile(
    file: { readonly name: string; readonly chain?: string },
    bytes: Uint8Array,
  ): Promise<Awaited<ReturnType<Pipeline['ingest']>>>;
  letters(origin?: string): Promise<StoredDeadLetter[]>;
  close(): Promise<void>;
}

export interface StoredDeadLetter {
  readonly topic: string;
  readonly origin: string;
  readonly line: number;
  readonly reason: string;
  readonly bytes: string;
  readonly size: number;
}

export async function openIngesting(settings: Record<string, string> = {}): Promise<Ingesting> {
  const { pipeline, close } = await openTestPipeline(undefined, settings);
  // What is taken in here is never asked for as a metric.
  const { opened: closed, open: release } = gate();
  const held = pipeline.aggregator.pauseComputation(() => closed);
  const takeFile: Ingesting['takeFile'] = async (file, bytes) => {
    const taken = await pipeline.ingest(Readable.from([bytes]), file);
    await pipeline.waitUntilLoaded();
    return taken;
  };
  return {
    pipeline,
    takeFile,
    take: (name, lines) => takeFile({ name }, bytesOf(lines, name.split('.')[0] ?? '')),
    letters: (origin) =>
      pipeline.runtime.store.rows<StoredDeadLetter>(
        sql`SELECT topic, origin, line, reason, bytes, size FROM ${deadLetters} FINAL
          WHERE ${origin === undefined ? raw('1') : sql`origin = ${origin}`} ORDER BY origin, line`,
      ),
    close: async () => {
      await close();
      release();
      // The round that follows a pause finds everything closed.
      await held.catch(() => undefined);
    },
  };
}

/** Rows of a statement over what was taken in. */
export const rowsOf = <Row = Record<string, unknown>>(
  { pipeline }: Ingesting,
  statement: Sql,
): Promise<Row[]> => pipeline.runtime.store.rows<Row>(statement);

/** The rows of a chain's canonical blocks in one table, without what names one load of them. */
export const canonicalRows = (ingesting: Ingesting, table: Table, chain: string, from = 0) =>
  rowsOf(
    ingesting,
    sql`SELECT * EXCEPT (${raw(table === blocks ? 'rank, received_at, source' : 'rank')}) FROM ${table}
      WHERE chain = ${chain} AND number >= ${from} AND rank IN (SELECT rank FROM ${blocks} FINAL WHERE chain = ${chain})
      ORDER BY ${raw(table.orderBy.join(', '))}`,
  );

export const heightsOf = async (ingesting: Ingesting, chain: string): Promise<number[]> =>
  (await canonicalRows(ingesting, blocks, chain)).map(({ number }) => number as number);

function bytesOf(lines: readonly (string | object | Buffer)[], chain: string): Buffer {
  const end = Buffer.from('\n');
  return Buffer.concat(
    lines.flatMap((line) => [
      Buffer.isBuffer(line)
        ? line
        : Buffer.from(typeof line === 'string' ? line : JSON.stringify(rooted(line, chain))),
      end,
    ]),
  );
}
