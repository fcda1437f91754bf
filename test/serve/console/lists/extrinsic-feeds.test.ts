import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { ExtrinsicFeeds, type Place } from '../../../../serve/console/lists/explorer/extrinsic-feeds.ts';
import type { ListRow } from '../../../../serve/console/lists/list-page.ts';

const row = (block_number: number, extrinsic_index = 0): ListRow => ({ block_number, extrinsic_index });

/** Feeds of chains whose extrinsics the test adds, newest first. */
function openFeeds(listenersMax = 100) {
  const chains = new Map<string, ListRow[]>();
  const reads: string[] = [];
  const feeds = new ExtrinsicFeeds({
    listenersMax,
    pollMs: 1,
    read: async (chain) => {
      reads.push(chain);
      return chains.get(chain) ?? [];
    },
  });
  const listen = (chain: string, after: Place | null, caller = 'somebody') => {
    const got: string[] = [];
    const send = (rows: readonly ListRow[]) =>
      got.push(...rows.map(({ block_number, extrinsic_index }) => `${block_number}-${extrinsic_index}`));
    return { got, leave: feeds.listen({ caller, chain, after, send }) };
  };
  return { feeds, chains, reads, listen };
}

describe('feeds of extrinsics', () => {
  it('send each listener what is new to it, once, oldest first', async () => {
    const { chains, listen } = openFeeds();
    chains.set('polkadot', [row(2, 1), row(2, 0), row(1)]);
    const first = listen('polkadot', [1, 0]);
    const second = listen('polkadot', [2, 1]);
    await vi.waitFor(() => expect(first.got).toEqual(['2-0', '2-1']));
    chains.set('polkadot', [row(10), row(9), row(2, 1)]);
    await vi.waitFor(() => expect(second.got).toEqual(['9-0', '10-0']));
    expect(first.got).toEqual(['2-0', '2-1', '9-0', '10-0']);
    first.leave();
    second.leave();
  });

  it('read a chain once for all who follow it, and not at all when nobody does', async () => {
    const { feeds, reads, listen } = openFeeds();
    const all = Array.from({ length: 20 }, (_, i) => listen('kusama', null, `caller ${i}`));
    await vi.waitFor(() => expect(reads.length).toBeGreaterThan(3));
    for (const { leave } of all) leave();
    const before = reads.length;
    expect(before).toBeLessThan(20 * 3);
    const other = listen('polkadot', null);
    await vi.waitFor(() => expect(reads.filter((chain) => chain === 'polkadot').length).toBeGreaterThan(3));
    other.leave();
    expect(reads.filter((chain) => chain === 'kusama').length).toBe(before);
    expect(feeds.listeners).toBe(0);
  });

  it('keep nothing of the reads that are over', async () => {
    const listeners: number[] = [];
    const feeds = new ExtrinsicFeeds({
      listenersMax: 4,
      pollMs: 1,
      read: async (_chain, signal) => {
        listeners.push(getEventListeners(signal, 'abort').length);
        return [];
      },
    });
    const leave = feeds.listen({ caller: '', chain: 'polkadot', after: null, send: () => undefined });
    await vi.waitFor(() => expect(listeners.length).toBeGreaterThan(5));
    leave();
    expect(Math.max(...listeners)).toBe(0);
  });

  it('go on when the store fails', async () => {
    let isAway = true;
    const feeds = new ExtrinsicFeeds({
      listenersMax: 4,
      pollMs: 1,
      read: async () => {
        if (isAway) throw new Error('away');
        return [row(1)];
      },
    });
    const got: ListRow[] = [];
    const leave = feeds.listen({
      caller: '',
      chain: 'polkadot',
      after: null,
      send: (rows) => got.push(...rows),
    });
    isAway = false;
    await vi.waitFor(() => expect(got).toHaveLength(1));
    leave();
  });

  it('have room for so many listeners, and for a quarter of them of one caller', () => {
    const { feeds, listen } = openFeeds(8);
    const mine = [listen('polkadot', null, 'me'), listen('kusama', null, 'me')];
    expect(() => listen('polkadot', null, 'me')).toThrow('Too many live pages');
    const others = ['a', 'b', 'c', 'd', 'e', 'f'].map((caller) => listen('polkadot', null, caller));
    expect(() => listen('polkadot', null, 'g')).toThrow('Too many live pages');
    for (const { leave } of [...mine, ...others]) leave();
    mine[0]?.leave();
    expect(feeds.listeners).toBe(0);
    listen('polkadot', null, 'me').leave();
  });
});
