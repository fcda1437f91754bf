import { Readable } from 'node:stream';
import { Engine } from '../../aggregate/engine.ts';
import { raw, sql } from '../../infra/clickhouse/sql.ts';
import { readConfig } from '../../infra/config/config.ts';
import { deadLetters } from '../../ingest/raw/tables.ts';
import { gate } from '../infra/ports/opened.ts';
import { temporaryDirectory } from '../support/engine.ts';

/** Blocks as Sidecar lays them out, with only what a test is about. */

export const hash = (number: number | string) => `0x${String(number).padStart(64, '0')}`;
export const NOON = Date.UTC(2026, 0, 2, 12);

export interface MadeExtrinsic {
  readonly method?: unknown;
  readonly signature?: unknown;
  readonly [field: string]: unknown;
}

const EXTRINSIC = {
  signature: null,
  tip: null,
  hash: hash('e'),
  info: {},
  events: [],
  success: true,
  paysFee: false,
};

export function madeExtrinsic(call: string, more: MadeExtrinsic = {}): object {
  const [pallet, method] = call.split('.');
  return { method: { pallet, method }, args: {}, ...EXTRINSIC, ...more };
}

export function madeEvent(name: string, ...data: readonly unknown[]): object {
  const [pallet, method] = name.split('.');
  return { method: { pallet, method }, data };
}

export function madeBlock(number: number, extrinsics: readonly object[] = [], more: object = {}): object {
  return {
    number: String(number),
    hash: hash(number),
    parentHash: hash(Math.max(0, number - 1)),
    authorId: ALICE,
    onInitialize: { events: [] },
    extrinsics: [
      madeExtrinsic('timestamp.set', { args: { now: String(NOON + number * 6000) } }),
      ...extrinsics,
    ],
    onFinalize: { events: [] },
    finalized: true,
    ...more,
  };
}

export const ALICE = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';
export const ALICE_KEY = 'd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d';
export const BOB_GENERIC = '5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty';

export interface Ingesting {
  readonly engine: Engine;
  /** Takes in lines under a file's name. */
  take(
    name: string,
    lines: readonly (string | object | Buffer)[],
  ): Promise<Awaited<ReturnType<Engine['ingest']>>>;
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
  const directory = temporaryDirectory();
  const engine = await Engine.open(readConfig({ DATA_DIR: directory.path, ...settings }));
  // What is taken in here is never asked for as a metric.
  const { opened: closed, open: release } = gate();
  const held = engine.aggregator.hold(() => closed);
  return {
    engine,
    take: (name, lines) => engine.ingest(Readable.from([bytesOf(lines)]), { name }),
    letters: (origin) =>
      engine.runtime.store.rows<StoredDeadLetter>(
        sql`SELECT topic, origin, line, reason, bytes, size FROM ${deadLetters} FINAL
          WHERE ${origin === undefined ? raw('1') : sql`origin = ${origin}`} ORDER BY origin, line`,
      ),
    close: async () => {
      await engine.close();
      release();
      await held;
      directory[Symbol.dispose]();
    },
  };
}

function bytesOf(lines: readonly (string | object | Buffer)[]): Buffer {
  const end = Buffer.from('\n');
  return Buffer.concat(
    lines.flatMap((line) => [
      Buffer.isBuffer(line) ? line : Buffer.from(typeof line === 'string' ? line : JSON.stringify(line)),
      end,
    ]),
  );
}
