import { beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../../../infra/days.ts';
import { BlockTimes } from '../../../../ingest/node/state/block-times.ts';
import { DayCollector } from '../../../../ingest/node/state/day-collector.ts';
import { StateBackfill, type StateTarget } from '../../../../ingest/node/state/state-backfill.ts';
import { stateNode } from '../../../../ingest/node/state/state-node.ts';
import { itemPrefix } from '../../../../ingest/node/state/storage.ts';
import type { SkippedSnapshot, StoredSnapshot } from '../../../../ingest/raw/skipped-snapshots.ts';
import { documentsOf, paseo } from './made-chains.ts';
import { hashOf, lastHeights, made, timeOf } from './made-days.ts';
import type { StateServer } from './state-server.ts';

const subject = paseo('coretime-paseo');
/** Before the day after the newest block has begun. */
const NOW = Date.parse('2026-03-07T00:10:00Z');

let stored: StoredSnapshot[];
let noted: SkippedSnapshot[];
let said: string[];
const target: StateTarget = {
  storedSnapshots: async ({ from, to }) => stored.filter(({ day }) => day >= from && day <= to),
  noteSkippedSnapshots: async (_, skipped) => void noted.push(...skipped),
};
beforeEach(() => {
  [stored, noted, said] = [[], [], []];
});

describe('a range of days', () => {
  const BLOCKS = 250;
  const ends = lastHeights(BLOCKS);
  const range = { from: '2026-02-27', to: '2026-03-05' };
  const backfill = (server: StateServer, days = range) =>
    new StateBackfill(subject, days, {
      source: 'node',
      open: async () => stateNode({ rpc: server, block: server.block }),
      signal: new AbortController().signal,
      now: () => NOW,
    });
  /** Loads what comes, as the product does, up to a number of portions. */
  async function load(feed: StateBackfill, portionsMax = 100) {
    const loaded: { day: string; kind: string; height: number; count?: number }[] = [];
    for await (const { lines } of feed.portions(target)) {
      for (const { kind, payload, as_of, block_number } of documentsOf(lines)) {
        loaded.push({ day: as_of.slice(0, 10), kind, height: block_number, count: payload.count });
        stored.push({ day: as_of.slice(0, 10), kind });
      }
      if (--portionsMax === 0) break;
    }
    return loaded;
  }

  it('is taken at the last block of each day, newest first, and what a day lacks is noted', async () => {
    const server = made(BLOCKS);
    const feed = backfill(server);
    const loaded = await load(feed);
    const days = ['2026-03-05', '2026-03-04', '2026-03-03', '2026-03-02', '2026-03-01'];
    expect(loaded.filter(({ kind }) => kind === 'account_count')).toEqual(
      days.map((day) => ({ day, kind: 'account_count', height: ends.get(day), count: ends.get(day) })),
    );
    expect(loaded.filter(({ kind }) => kind === 'coretime_config').map(({ day }) => day)).toEqual(
      days.slice(0, 3),
    );
    expect(noted).toEqual(
      days.slice(3).map((day) => ({ day, kind: 'coretime_config', reason: 'no sale has begun yet' })),
    );
    expect({ got: feed.fetchedCount, faults: feed.faults }).toEqual({ got: 5, faults: [] });
  });

  it('goes on after a stop with the days that are not stored, and gives the same', async () => {
    const whole = await load(backfill(made(BLOCKS)));
    [stored, noted] = [[], []];
    const parts = await load(backfill(made(BLOCKS)), 2);
    const server = made(BLOCKS);
    parts.push(...(await load(backfill(server))));
    expect(parts).toEqual(whole);
    const read = new Set(
      server.asked.filter(({ method }) => method === 'state_getKeysPaged').map(({ params }) => params[3]),
    );
    expect(read).not.toContain(hashOf(ends.get('2026-03-05') as number));
  });

  it('says which days the node has pruned, also the one of which it keeps the end only in part', async () => {
    const kept = (ends.get('2026-03-03') as number) + 1;
    const loaded = await load(backfill(made(BLOCKS, kept), { from: '2026-03-02', to: '2026-03-05' }));
    expect(new Set(loaded.map(({ day }) => day))).toEqual(new Set(['2026-03-05', '2026-03-04']));
    const reason = 'the node has pruned the state of that day: use an archive node';
    expect(noted).toEqual(
      ['2026-03-03', '2026-03-02'].flatMap((day) =>
        ['coretime_config', 'account_count'].map((kind) => ({ day, kind, reason })),
      ),
    );
  });

  it('takes nothing of a day that still runs, and the head where the chain stands still', async () => {
    const head = ends.get('2026-03-04') as number;
    const running = made(head);
    running.isSyncing = true;
    expect((await load(backfill(running))).map(({ day }) => day)).not.toContain('2026-03-04');
    expect(await load(backfill(made(head)))).toContainEqual({
      ...{ day: '2026-03-04', kind: 'account_count', height: head - 1, count: head - 1 },
    });
  });

  it('finds the time of a block in the block if the state does not hold it', async () => {
    const server = made(250);
    const block = async (hash: string) => {
      const method = { pallet: 'timestamp', method: 'set' };
      return Buffer.from(
        JSON.stringify({ extrinsics: [{ method, args: { now: String(timeOf(Number(hash))) } }] }),
      );
    };
    const call: StateServer['call'] = async (method, params) =>
      params?.[0] === itemPrefix('Timestamp', 'Now') ? null : server.call(method, params);
    const times = new BlockTimes({ rpc: { call }, block });
    const [day, height] = ['2026-03-04', ends.get('2026-03-04') as number];
    expect(await times.endOfDay(Date.parse(day), Date.parse(day) + DAY_MS, 249)).toEqual({
      height,
      hash: hashOf(height),
      time: timeOf(height),
    });
  });

  it('finds the end of a day in few requests', async () => {
    const server = made(BLOCKS);
    await load(backfill(server, { from: '2026-03-04', to: '2026-03-05' }));
    const times = server.asked.filter(({ params }) => params[0] === itemPrefix('Timestamp', 'Now'));
    expect(times.length).toBeLessThan(20);
  });
});

describe('a followed chain', () => {
  const collector = (server: StateServer) =>
    new DayCollector(stateNode({ rpc: server, block: server.block }), {
      ...subject,
      target,
      say: (text) => void said.push(text),
    });
  const counts = (lines: readonly Buffer[]) =>
    documentsOf(lines).flatMap(({ kind, block_number }) => (kind === 'account_count' ? [block_number] : []));
  const ends = lastHeights(250);

  it('is taken at the start, with the end of the day before, and then at the end of each day', async () => {
    const following = collector(made(250));
    const [first, second] = [ends.get('2026-03-03'), ends.get('2026-03-04')] as [number, number];
    expect(counts(await following.collect(first + 3))).toEqual([first, first + 3]);
    expect(await following.collect(first + 4)).toEqual([]);
    expect(await following.collect(second)).toEqual([]);
    expect(counts(await following.collect(second + 1))).toEqual([second]);
    expect(await following.collect(second + 2)).toEqual([]);
    expect(noted).toEqual([]);
  });

  it('is not taken again for a day that is stored', async () => {
    stored = (['coretime_config', 'account_count'] as const).map((kind) => ({ day: '2026-03-03', kind }));
    const height = (ends.get('2026-03-03') as number) + 3;
    expect(counts(await collector(made(250)).collect(height))).toEqual([height]);
  });

  it('says so if the node keeps the day before no more', async () => {
    const height = (ends.get('2026-03-03') as number) + 3;
    expect(counts(await collector(made(250, height - 1)).collect(height))).toEqual([height]);
    expect(noted.map(({ day, kind }) => `${day} ${kind}`)).toEqual([
      '2026-03-03 coretime_config',
      '2026-03-03 account_count',
    ]);
    expect(said).toContain(
      'no account_count of 2026-03-03: the node has pruned the state of that day: use an archive node',
    );
  });

  it('is taken later if the node was away', async () => {
    const server = made(250);
    const following = collector(server);
    const height = (ends.get('2026-03-03') as number) + 3;
    server.failures = 1;
    await expect(following.collect(height)).rejects.toThrow('cannot be reached');
    expect(counts(await following.collect(height))).toHaveLength(2);
  });
});
