import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Log, LogRecord, Message } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { Loader } from '../../../ingest/load/loader.ts';
import { type Envelope, readLine } from '../../../ingest/log/envelope.ts';
import { TOPICS } from '../../../ingest/log/topics.ts';
import { blocks, deadLetters } from '../../../ingest/raw/tables.ts';
import { openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { recordedLines } from '../../support/recordings.ts';

let opened: TestPipeline;
beforeAll(async () => {
  opened = await openTestPipeline();
});
afterAll(() => opened.close());

test('what a batch refuses is written once, however often it is delivered before it is loaded', async () => {
  const { runtime, registry } = opened.pipeline;
  const { store } = runtime;
  const published: string[] = [];
  let deliver: (messages: readonly Message[]) => Promise<void> = async () => {};
  const log: Partial<Log> = {
    consume: async (topic, _group, handle) => {
      if (topic === TOPICS.blocks)
        deliver = async (messages) => (await handle(messages as LogRecord[])).durable;
    },
    deadLetter: async (_topic, letters) => {
      published.push(...letters.map(({ value }) => value.toString()));
      return letters.map((_, i) => String(i));
    },
  };
  let isAway = true;
  let next = 1n;
  const take = async (count: number) => {
    if (isAway) throw new Error('Redis does not answer');
    next += BigInt(count);
    return next - BigInt(count);
  };
  const loader = new Loader({
    ...{ registry, numbers: { take }, leaseMs: 1000, deadLetterBytes: 65_536 },
    runtime: { ...runtime, log: log as Log },
    onLoaded: async () => {},
  });
  await loader.start();

  const [recorded] = recordedLines('blocks').filter(({ chain }) => chain === 'polkadot');
  const origin = { source: 'import', origin: 'f', line: 2 };
  const block = readLine(
    Buffer.from(recorded?.line as string),
    registry.find('polkadot'),
    registry,
    origin,
  ) as Envelope;
  const messages = [{ key: 'a', value: Buffer.from('{"broken":') }, block];
  for (let time = 0; time < 3; time++)
    await expect(deliver(messages)).rejects.toThrow('Redis does not answer');
  expect([published, loader.counters.refused]).toEqual([[], 0]);

  isAway = false;
  await deliver(messages);
  expect([published, loader.counters.refused]).toEqual([['{"broken":'], 1]);
  expect(await store.rows(sql`SELECT attempts FROM ${deadLetters} FINAL`)).toEqual([{ attempts: 1 }]);
  expect(await store.rows(sql`SELECT chain FROM ${blocks} FINAL`)).toEqual([{ chain: 'polkadot' }]);
});
