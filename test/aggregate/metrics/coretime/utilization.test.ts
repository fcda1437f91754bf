import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ShapedEvent } from '../../../reference/shaped.ts';
import {
  blockOf,
  blockWith,
  coretimeConfig,
  openServed,
  type Served,
  saleInitialized,
  snapshot,
} from './served.ts';

const CORETIME = 'coretime-polkadot';
const at = (day: number, time = '12:00:00') => `2026-02-${String(day).padStart(2, '0')}T${time}.000Z`;

const included = (...paras: number[]): ShapedEvent[] =>
  paras.map((para, core) => [
    'paraInclusion.CandidateIncluded',
    { descriptor: { paraId: String(para) }, commitmentsHash: '0x' },
    '0x',
    String(core),
    '0',
  ]);

const relayBlock = (number: number, time: string, events: readonly ShapedEvent[], chain = 'polkadot') =>
  blockOf(chain, { number, time, extrinsics: [{ call: 'paraInherent.enter', events }] });

let served: Served;
beforeAll(async () => {
  served = await openServed();
  await served.ingest(
    relayBlock(1, at(1), included(2000, 2000, 2001)),
    blockOf('polkadot', {
      number: 2,
      time: at(1, '23:59:59'),
      // The pallet's former name, and a phase before any extrinsic.
      opening: included(2002).map(
        ([, ...data]): ShapedEvent => ['parasInclusion.CandidateIncluded', ...data],
      ),
      extrinsics: [
        {
          call: 'paraInherent.enter',
          events: [
            ['paraInclusion.CandidateBacked', {}, '0x', '1', '0'],
            ['paraInclusion.CandidateIncluded', {}],
          ],
        },
      ],
    }),
    relayBlock(3, at(2), included(1, 2, 3, 4, 5, 6)),
    snapshot('coretime_config', CORETIME, at(2, '00:00:00'), coretimeConfig({ cores_offered: 90 }, 9)),
    snapshot('coretime_config', CORETIME, at(2, '23:59:59'), coretimeConfig({ cores_offered: 10 }, 2)),
    relayBlock(4, at(3), []),
    blockWith(CORETIME, 1, at(3, '23:59:54'), [saleInitialized({ begin: 1, end: 2, offered: 8 })]),
    blockWith(CORETIME, 2, at(3, '23:59:54'), [saleInitialized({ begin: 2, end: 3, offered: 4 })]),
    // No relay block on the fourth.
    blockWith(CORETIME, 3, at(4), [saleInitialized({ begin: 3, end: 4, offered: 0 })]),
    relayBlock(5, at(5), included(1)),
    snapshot('coretime_config', CORETIME, at(5), coretimeConfig({ cores_offered: 50 }, 0)),
    relayBlock(1, at(1), included(1, 2), 'kusama'),
    relayBlock(1, at(1), included(1), 'westend'),
    // Events of parachains do not count.
    blockWith('asset-hub-polkadot', 1, at(1), included(7, 8, 9)),
  );
});
afterAll(() => served.close());

const days = (query = '') =>
  served.fields(
    `/api/coretime-utilization${query}`,
    ...['date', 'cores_offered', 'system_cores', 'cores_available', 'avg_cores_used', 'utilization'],
  );

describe('cores in use per relay block', () => {
  it('are counted over all phases and both names of the pallet, and over relay blocks only', async () => {
    expect((await served.rows('/api/coretime-utilization'))[0]).toEqual({
      date: '2026-02-01',
      relay_chain: 'polkadot',
      chain: 'polkadot',
      cores_offered: null,
      system_cores: null,
      cores_available: null,
      avg_cores_used: 2,
      utilization: null,
      included_candidates: 4,
      relay_blocks: 2,
      distinct_paras: 3,
    });
  });

  it('are divided by the cores of the newest sale and the newest reservations at the end of the day', async () => {
    expect(await days()).toEqual([
      ['2026-02-01', null, null, null, 2, null],
      // Before the first sale: the cores of the configuration.
      ['2026-02-02', 10, 2, 12, 6, 0.5],
      // Two sales at one moment: the one of the later block; the reservations are carried forward.
      ['2026-02-03', 4, 2, 6, 0, 0],
      // A sale of a day without relay blocks; no core is available, so that there is no share of them.
      ['2026-02-05', 0, 0, 0, 1, null],
    ]);
  });

  it('are those of the primary relay chain unless the request names another', async () => {
    expect(await days('?relay_chain=kusama')).toEqual([['2026-02-01', null, null, null, 2, null]]);
    expect(await days('?relay_chain=polkadot')).toEqual(await days());
  });

  it('are served by day, both ends included', async () => {
    const chosen = await days('?start_date=2026-02-02&end_date=2026-02-03');
    expect(chosen.map(([date]) => date)).toEqual(['2026-02-02', '2026-02-03']);
    expect(await days('?start_date=2026-03-01&end_date=2099-01-01')).toEqual([]);
  });

  it('a late fact changes its day and every later day that carries it forward', async () => {
    await served.ingest(
      snapshot('coretime_config', CORETIME, at(1), coretimeConfig({ cores_offered: 3 }, 1)),
      blockWith(CORETIME, 4, at(5, '13:00:00'), [saleInitialized({ begin: 5, end: 6, offered: 2 })]),
    );
    expect(await days()).toEqual([
      ['2026-02-01', 3, 1, 4, 2, 0.5],
      ['2026-02-02', 10, 2, 12, 6, 0.5],
      ['2026-02-03', 4, 2, 6, 0, 0],
      ['2026-02-05', 2, 0, 2, 1, 0.5],
    ]);
  });
});
