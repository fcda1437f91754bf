import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { EmbeddedLog } from '../../../infra/embedded/log.ts';
import type { Message, Runtime } from '../../../infra/ports.ts';
import { readRegistry } from '../../../ingest/chains/registry.ts';
import { TOPICS } from '../../../ingest/log/topics.ts';
import { publish } from '../../../ingest/sources/publish.ts';
import { createSourceMetrics } from '../../../ingest/sources/source-metrics.ts';
import { countTurns } from '../../support/turns.ts';
import { madeBlock } from '../made.ts';

const MIB = 2 ** 20;
const LINE = Buffer.from(`${JSON.stringify(madeBlock(1, [], { padding: 'a'.repeat(MIB / 8) }))}\n`);

it('lets the event loop turn while it reads a source that never waits', async () => {
  const log = new EmbeddedLog();
  let published = 0;
  await log.consume(TOPICS.blocks, 'test', async (batch: readonly Message[]) => {
    published += batch.length;
    return { durable: Promise.resolve() };
  });
  using counted = countTurns();
  const turnsAtLines: number[] = [];
  const bytes = new Readable({
    read() {
      turnsAtLines.push(counted.turns);
      this.push(turnsAtLines.length > 64 ? null : LINE);
    },
  });
  const runtime = { log, clock: { now: Date.now } } as unknown as Runtime;
  const limits = {
    ...{ batchBytes: 64 * MIB, lineBytes: MIB, lineSetting: 'LINE_BYTES_MAX' },
    ...{ messageBytes: Number.POSITIVE_INFINITY, deadLetterBytes: 0, metrics: createSourceMetrics() },
  };
  const registry = readRegistry({ CHAINS_FILE: undefined });
  const summary = await publish(runtime, registry, [{ name: 'polkadot.ndjson', bytes }], {}, limits);
  expect(summary).toEqual({ lines: 64, blocks: 64, snapshots: 0, refused_lines: 0 });
  expect(published).toBe(64);
  // 8 MiB, which fit into one batch.
  expect((turnsAtLines.at(-1) ?? 0) - (turnsAtLines[0] ?? 0)).toBeGreaterThanOrEqual(7);
});
