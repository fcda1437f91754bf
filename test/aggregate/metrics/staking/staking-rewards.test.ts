import type { LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dailyStakingRewards } from '../../../../aggregate/metrics/staking/daily-staking-rewards.ts';
import { sql } from '../../../../infra/sql.ts';
import { refusedFacts } from '../../../../ingest/raw/tables.ts';
import type { InputLine } from '../../../reference/input.ts';
import type { ShapedBlock, ShapedEvent } from '../../../reference/shaped.ts';
import { recordedLines } from '../../../support/recordings.ts';
import { servedRows } from '../../../support/served.ts';
import { ALICE, ALICE_GENERIC, BOB, BOB_GENERIC, blocksOf } from '../shapes/shape.ts';
import { only, type Served, serve, stated } from './snapshot-rows.ts';

const isStaking = ({ chain }: InputLine) => chain === 'kusama' || chain === 'polkadot';
const RECORDED = [...recordedLines('blocks'), ...recordedLines('runtime')].filter(isStaking);

/** Blocks with staking events, each in an extrinsic of its own or in the initialization of the block. */
const block = (number: number, time: string, extrinsics: readonly ShapedEvent[][], opening: ShapedEvent[] = []): ShapedBlock => ({
  number,
  time,
  opening,
  extrinsics: extrinsics.map((events) => ({ call: 'staking.payoutStakers', signer: ALICE, events })),
}); // biome-ignore format: one line reads better

const START = 9_000_000;
const SHAPED: InputLine[] = [
  ...blocksOf('statemint', [
    block(START, '2026-03-01T10:00:00Z', [
      [
        ['staking.Rewarded', ALICE, { staked: null }, '1'],
        ['staking.PayoutStarted', '7', ALICE],
        ['staking.Rewarded', ALICE, { staked: null }, '10'],
        ['staking.PayoutStarted', '5', ALICE, '0', null],
        ['staking.Rewarded', ALICE_GENERIC, { account: BOB }, '100'],
        ['staking.Rewarded', BOB, 'None', '1000'],
        ['staking.Rewarded', BOB, { none: null }, '1000'],
      ],
      [
        ['staking.Reward', ALICE, '1000'],
        ['nominationPools.PaidOut', ALICE, '1', '10000'],
        ['staking.Slash', ALICE, '3'],
        ['staking.Slashed', ALICE, '4'],
        ['staking.Slashed', BOB, '5'],
      ],
      [
        ['staking.Rewarded', ALICE, { staked: null }, 'Stash', '9'],
        ['staking.Rewarded', ALICE, { staked: null }, '-9'],
        ['staking.Rewarded', '12', '9'],
        ['staking.PayoutStarted', '99', ALICE, '0'],
        ['nominationPools.PaidOut', BOB_GENERIC, '2', '20'],
      ],
    ]),
    block(START + 1, '2026-03-02T00:00:00Z', [], [
      ['staking.PayoutStarted', '8', BOB],
      ['staking.Rewarded', BOB, { staked: null }, '20000000000'],
    ]),
    block(START + 2, '2026-03-02T00:00:06Z', [], [['staking.Rewarded', BOB, { staked: null }, '0']]),
    block(START + 4, '2026-06-15T05:06:40Z', [
      [
        ['staking.PayoutStarted', '2244', ALICE, '0', null],
        ['staking.Rewarded', ALICE, { stash: null }, '692156400000000'],
        ['staking.ValidatorIncentivePaid', '2244', ALICE, { stash: null }, '346078200000000'],
      ],
      // Of another era than the payout, to another account, and alone on its day.
      [
        ['staking.PayoutStarted', '2244', ALICE, '0', null],
        ['staking.ValidatorIncentivePaid', '2243', ALICE_GENERIC, { account: BOB }, '1'],
      ],
      [['staking.ValidatorIncentivePaid', '2242', BOB_GENERIC, 'Staked', '2']],
      [
        ['staking.ValidatorIncentivePaid', '2200', BOB, 'None', '1000'],
        ['staking.ValidatorIncentivePaid', '2200', BOB, { none: null }, '1000'],
        ['staking.ValidatorIncentivePaid', BOB, { staked: null }, '1000'],
        ['staking.ValidatorIncentivePaid', '2200', BOB, { staked: null }, '-1'],
        ['staking.ValidatorIncentivePaid', 'x', BOB, { staked: null }, '1'],
      ],
    ], [['staking.ValidatorIncentivePaid', '2241', BOB, { stash: null }, '3']]),
    block(START + 3, '2023-12-31T23:59:54Z', [[['staking.Rewarded', BOB, '1']]]),
  ]),
  ...blocksOf('westend', [block(1, '2026-03-01T10:00:00Z', [[['staking.Rewarded', ALICE, '1']]])]),
  stated('price', 'polkadot', '2026-03-02T20:00:00.000Z', { symbol: 'DOT', usd: 4.5 }),
]; // biome-ignore format: a table of events

let served: Served;
beforeAll(async () => {
  served = await serve([...RECORDED, ...SHAPED]);
});
afterAll(() => served.close());

const path = '/api/daily-staking-rewards';
const on = (date: string, more = '') => served.ask(`${path}?start_date=${date}&end_date=${date}${more}`);

describe('rewards of real runtimes', () => {
  const DAY = '2026-11-21';

  it('have a row per stash and pool member, with the address on the chain and the era of the payout', async () => {
    const fields = [
      'account',
      'staking_reward_planck',
      'pool_reward_planck',
      'num_payouts',
      'era_min',
      'era_max',
    ];
    expect(only(await on(DAY), ...fields)).toEqual([
      ['13UVJyLnbVp8c4FQeiGCovEJbQuhsZKmtH4JmFwDA7oh7dSD', '25350244785', '0', 1, 2, 2],
      ['15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5', '281400944319', '0', 1, 2, 2],
      ['16D2eVuK5SWfwvtFD3gVdBC2nc2BafK31BY6PrbZHBAGew7L', '0', '4152195266', 1, null, null],
      ['16WWmr2Xqgy5fna35GsNHXMU7vDBM12gzHCFGibQjSmKpAN', '4291777501651', '0', 1, 2, 2],
    ]);
  });

  it('add up over the day, also in events of old runtimes', async () => {
    const rows = await servedRows(served.pipeline, { metric: dailyStakingRewards });
    const old = rows.filter(({ chain, date }) => chain === 'kusama' && date === '2020-12-09');
    const { account, ...twice } =
      old.find(({ account }) => account === 'HRtMCsyu1wdTME9bdcsMXmDBxzRBL9trrm6VqhhsduEBdR8') ?? {};
    expect(old).toHaveLength(9);
    expect(twice).toMatchObject({
      staking_reward_planck: '93059323801',
      num_payouts: 3,
      era_min: null,
      reward: 0.093059323801,
    });
    const two = rows.filter(({ date }) => date === '2022-07-14');
    expect(only(two, 'account', 'reward_planck', 'num_payouts', 'era_min', 'era_max')).toEqual([
      ['CoS64CrbKnNcfGBMisggvu4gsy2pxqaSuT1bFjGwnTZXY5v', '645704852550', 2, 3950, 3951],
      ['DMHW1yWZS4qingUwcJRjZSJ8SvbvMUEKZL1oMiwcUXHBGWA', '0', 2, 3950, 3951],
    ]);
  });
});

describe('a day’s rewards of an account', () => {
  it('are those of its key, in whatever encoding and for whatever payee; pools and slashes have columns of their own', async () => {
    expect(await on('2026-03-01')).toEqual([
      {
        relay_chain: 'polkadot',
        chain: 'asset-hub-polkadot',
        date: '2026-03-01',
        account: BOB,
        reward: 2e-9,
        reward_planck: '20',
        staking_reward: 0,
        staking_reward_planck: '0',
        pool_reward: 2e-9,
        pool_reward_planck: '20',
        reward_usd: null,
        num_payouts: 1,
        era_min: null,
        era_max: null,
        slashed: 5e-10,
        slashed_planck: '5',
      },
      {
        relay_chain: 'polkadot',
        chain: 'asset-hub-polkadot',
        date: '2026-03-01',
        account: ALICE,
        reward: 1.1111e-6,
        reward_planck: '11111',
        staking_reward: 1.111e-7,
        staking_reward_planck: '1111',
        pool_reward: 1e-6,
        pool_reward_planck: '10000',
        reward_usd: null,
        num_payouts: 5,
        era_min: 5,
        era_max: 7,
        slashed: 7e-10,
        slashed_planck: '7',
      },
    ]);
  });

  it('outside of extrinsics have only an era of their own phase and block; USD is at the price of the day', async () => {
    const fields = ['account', 'reward', 'reward_usd', 'num_payouts', 'era_min', 'era_max'];
    expect(only(await on('2026-03-02'), ...fields)).toEqual([[BOB, 2, 9, 2, 8, 8]]);
  });

  it('have the incentive of a validator with its own era, wherever it is sent', async () => {
    const fields = ['account', 'staking_reward_planck', 'reward_planck', 'num_payouts', 'era_min', 'era_max'];
    expect(only(await on('2026-06-15'), ...fields)).toEqual([
      [BOB, '5', '5', 2, 2241, 2242],
      [ALICE, '1038234600000001', '1038234600000001', 3, 2243, 2244],
    ]);
    const refused = await served.pipeline.runtime.store.rows<{ reason: string }>(
      sql`SELECT reason FROM ${refusedFacts} FINAL WHERE number = ${START + 4} ORDER BY fact`,
    );
    expect(refused.map(({ reason }) => reason).sort()).toEqual([
      'amount: not an unsigned integer',
      'index: not a whole number',
      'unknown number of fields: 3',
    ]);
  });

  it('in an unknown shape are refused with a reason', async () => {
    const refused = await served.pipeline.runtime.store.rows<{ fact: string; reason: string }>(
      sql`SELECT fact, reason FROM ${refusedFacts} FINAL WHERE number = ${START} ORDER BY fact`,
    );
    expect(refused.map(({ reason }) => reason)).toEqual([
      'unknown number of fields: 4',
      'amount: not an unsigned integer',
      'account: not an address',
      'unknown number of fields: 3',
    ]);
  });

  it('are selected by chain, by dates and by any of several accounts in any encoding', async () => {
    const accounts = async (more: string) => only(await on('2026-03-01', more), 'account').flat();
    expect(await accounts(`&accounts=${ALICE_GENERIC}`)).toEqual([ALICE]);
    expect(await accounts(`&accounts=${ALICE_GENERIC}&accounts=${BOB}`)).toEqual([BOB, ALICE]);
    expect(await accounts('&chain=statemint')).toEqual([BOB, ALICE]);
    expect(await accounts('&chain=polkadot')).toEqual([]);
    expect(await on('2023-12-31')).toEqual([]);
    expect(await served.status(`${path}?start_date=2026-03-01`)).toBe(422);
    expect(await served.status(`${path}?start_date=2026-03-01&end_date=2026-03-01&accounts=x`)).toBe(422);
    expect(
      await served.status(`${path}?start_date=2026-03-01&end_date=2026-03-01&relay_chain=polkadot`),
    ).toBe(422);
  });

  it('are divided into consecutive pages', async () => {
    const url = `${path}?start_date=2026-03-01&end_date=2026-11-30`;
    const whole = await served.ask(url);
    const paged: unknown[] = [];
    for (let next: string | undefined = `${url}&limit=2`; next; ) {
      const answer: LightMyRequestResponse = await served.app.inject({ url: next });
      paged.push(...answer.json<unknown[]>());
      next = /<([^>]+)>/.exec(String(answer.headers.link ?? ''))?.[1];
    }
    expect(whole).toHaveLength(9);
    expect(paged).toEqual(whole);
  });
});
