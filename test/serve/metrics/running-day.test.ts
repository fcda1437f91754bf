import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPipeline, type Pipeline } from '../../../serve/application/compose/compose.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { operations } from '../../../serve/application/operations/operations.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { madeBlock } from './made-blocks.ts';

const directory = temporaryDirectory();
let now = Date.parse('2026-03-01T13:00:00Z');
let pipeline: Pipeline;
let app: FastifyInstance;
beforeAll(async () => {
  pipeline = await openPipeline(readConfig({ DATA_DIR: directory.path }), { clock: { now: () => now } });
  // Blocks at noon with a transaction each.
  const blocks = ['2026-02-28', '2026-03-01'].map((day, i) => JSON.stringify(madeBlock(100 + i, day)));
  await pipeline.ingest(Readable.from([Buffer.from(blocks.join('\n'))]), { name: 'polkadot' });
  await pipeline.waitUntilComputed();
  app = await buildServer(pipeline);
});
afterAll(async () => {
  await app?.close();
  await pipeline?.close();
  directory[Symbol.dispose]();
});

const rates = async (): Promise<number[]> => {
  const answer = await app.inject('/api/daily-tps?chain=polkadot');
  return answer.json<{ transactions_per_second: number }[]>().map((row) => row.transactions_per_second);
};

test('transactions per second of the running day are by the seconds that its blocks cover, and by the whole day once it is over, which is a change', async () => {
  expect(await rates()).toEqual([1 / 86_400, 1 / 43_200]);
  const { etag } = (await app.inject('/api/daily-tps?chain=polkadot')).headers;
  const exported = await operations.export.run(
    pipeline,
    { metric: 'daily-tps', format: 'json', chain: 'polkadot' },
    {
      onProgress: () => undefined,
    } as never,
  );
  const text = (await Array.fromAsync(exported as Readable)).join('');
  expect(JSON.parse(text)[1].transactions_per_second).toBe(1 / 43_200);
  const { cursor } = (await app.inject('/api/changes?since=2026-03-01T13:00:00Z&limit=10000')).json();
  const ended = async () =>
    (await app.inject(`/api/changes?cursor=${cursor}`)).json<{ changes: { value: string }[] }>().changes;
  now = Date.parse('2026-03-02T00:00:00Z');
  expect(await rates()).toEqual([1 / 86_400, 1 / 86_400]);
  expect(await ended()).toEqual([]);
  // Then the day has ended on the clock of every process.
  now += 60_000;
  expect((await ended()).map(({ value }) => value)).toEqual(['2026-03-01', '2026-03-01']);
  const since = `/api/daily-tps?chain=polkadot&changed_since=${cursor}`;
  expect((await app.inject(since)).json()).toMatchObject([{ date: '2026-03-01' }]);
  expect((await app.inject('/api/daily-tps?chain=polkadot')).headers.etag).not.toBe(etag);
});
