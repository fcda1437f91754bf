import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { InputLine } from '../../../reference/input.ts';
import { only, type Served, serve, stated } from './snapshot-rows.ts';

const stakes = (chain: string, as_of: string, validators: number, fields: object = {}): InputLine =>
  stated('staking_state', chain, as_of, {
    active_era: 1,
    validators,
    nominators: 31276,
    pools: 3,
    pool_members: 40,
    addresses_staking: 70246,
    staked: '8525167593700000000',
    staked_in_pools: '123456789',
    unbonding: '5',
    min_active_stake: '10000000000',
    ...fields,
  });

const holds = (chain: string, as_of: string, ...holdings: readonly [string, number, string, string][]) =>
  stated('stable_holdings', chain, as_of, {
    holdings: holdings.map(([coin, decimals, issuance, sovereign_held]) => ({
      coin,
      asset_id: '1337',
      decimals,
      issuance,
      sovereign_held,
    })),
  });

const price = (symbol: string, as_of: string, usd: number) =>
  stated('price', 'polkadot', as_of, { symbol, usd });

const TREASURY = '13UVJyLnbVp9RBZYFwFGyDvVd1y27Tt8tkntv6Q7JVPhFsTB';
const treasury = (chain: string, as_of: string, ...balances: readonly [string, number, string][]) =>
  stated('treasury_balance', chain, as_of, {
    balances: balances.map(([asset, decimals, amount]) => ({ account: TREASURY, asset, decimals, amount })),
  });

const validators = (chain: string, as_of: string, active: number, waiting: number) =>
  stated('validator_set', chain, as_of, { active: Array(active).fill(TREASURY), waiting, nominators: 9 });

const issued = (chain: string, as_of: string, total: string, fields: object = {}) =>
  stated('issuance', chain, as_of, { total, inactive: '0' }, fields);

const LINES: InputLine[] = [
  // The last snapshot of a day counts; of the same time, the later line.
  stakes('polkadot', '2024-03-20T23:59:59.999Z', 600),
  stakes('polkadot', '2024-03-20T06:00:00.000Z', 1),
  stakes('polkadot', '2024-03-21T06:00:00.000Z', 2),
  stakes('polkadot', '2024-03-21T06:00:00.000Z', 3),
  stakes('polkadot', '2021-12-31T06:00:00.000Z', 4),
  // After the move the asset hub has snapshots; on one day both chains do.
  stakes('statemint', '2025-11-05T00:00:00.000Z', 5),
  stakes('polkadot', '2025-11-04T10:00:00.000Z', 6),
  stakes('asset-hub-polkadot', '2025-11-04T12:00:00.000Z', 7),
  stakes('kusama', '2024-03-20T06:00:00.000Z', 8),
  stakes('moonbeam', '2025-11-05T06:00:00.000Z', 9),

  validators('polkadot', '2024-02-29T23:00:00.000Z', 3, 17),
  validators('polkadot', '2024-02-01T23:00:00.000Z', 2, 99),
  validators('kusama', '2024-02-10T23:00:00.000Z', 1, 5),
  validators('polkadot', '2022-12-31T23:00:00.000Z', 1, 1),

  issued('polkadot', '2024-03-31T00:00:00.000Z', '15000000000000000000', { block_number: null }),
  issued('polkadot', '2024-03-30T00:00:00.000Z', '1'),
  issued('acala', '2024-03-30T00:00:00.000Z', '0', { block_number: 55 }),
  stakes('acala', '2024-03-02T00:00:00.000Z', 1, { staked: '0' }),
  issued('asset-hub-polkadot', '2024-03-30T00:00:00.000Z', '1'),
  issued('polkadot', '2024-04-30T00:00:00.000Z', '1'),

  stated('tvl', 'acala', '2025-01-01T01:00:00.000Z', { tvl_usd: 0 }, { block_number: null }),
  stated('tvl', 'hydradx', '2025-01-01T02:00:00.000Z', { tvl_usd: 123456.789012345 }),
  stated('tvl', 'hydradx', '2025-01-01T01:00:00.000Z', { tvl_usd: 1 }),
  stated('tvl', 'moonbeam', '2025-01-01T01:00:00.000Z', { tvl_usd: 5 }),
  stated('tvl', 'statemint', '2024-12-31T01:00:00.000Z', { tvl_usd: 2e7 }),

  holds('statemint', '2025-01-01T01:00:00.000Z', ['coin_a', 6, '76000000123457', '1000000'], ['coin_b', 6, '7', '0']),
  holds('hydration', '2025-01-01T01:00:00.000Z', ['coin_a', 6, '1500000', '0'], ['coin_a', 18, '1', '0']),
  holds('bifrost', '2025-01-01T01:00:00.000Z', ['coin_b', 6, '1', '3']),
  holds('bifrost', '2025-01-02T01:00:00.000Z'),

  price('DOT', '2025-01-31T20:00:00.000Z', 5),
  price('USDC', '2025-01-31T01:00:00.000Z', 0.99),
  price('USDC', '2025-01-31T02:00:00.000Z', 1.01),
  price('DOT', '2025-01-30T20:00:00.000Z', 4000),
  treasury('polkadot', '2025-01-31T10:00:00.000Z', ['DOT', 10, '30000000000'], ['DOT', 10, '1'], ['USDC', 6, '15000000'], ['MYTH', 18, '2000000000000000000']),
  treasury('polkadot', '2025-01-02T10:00:00.000Z', ['DOT', 10, '999']),
  treasury('asset-hub-kusama', '2025-01-31T10:00:00.000Z', ['KSM', 12, '1000000000000'], ['USDC', 6, '2000000']),
  treasury('moonbeam', '2025-02-28T10:00:00.000Z', ['GLMR', 18, '1000000000000000000']),
]; // biome-ignore format: a table of snapshots

let served: Served;
beforeAll(async () => {
  served = await serve(LINES);
});
afterAll(() => served.close());

const EVER = 'start_date=2000-01-01&end_date=2100-01-01';

describe('daily staking participation', () => {
  const path = '/api/daily-staking-participation';
  const seen = async (query: string) =>
    only(
      await served.ask(`${path}?${EVER}${query}`),
      'date',
      'chain',
      'source_chain',
      'number_of_validators',
    );

  it('uses the last snapshot of a day, and of the same time the later line', async () => {
    expect(await seen('&chain=polkadot&relay_chain=polkadot')).toEqual(
      expect.arrayContaining([
        ['2024-03-20', 'polkadot', 'polkadot', 600],
        ['2024-03-21', 'polkadot', 'polkadot', 3],
      ]),
    );
  });

  it('without filters has each snapshot once, none of Kusama and none before 2022', async () => {
    expect(await seen('')).toEqual([
      ['2024-03-02', 'acala', 'acala', 1],
      ['2024-03-20', 'polkadot', 'polkadot', 600],
      ['2024-03-21', 'polkadot', 'polkadot', 3],
      ['2025-11-04', 'asset-hub-polkadot', 'asset-hub-polkadot', 7],
      ['2025-11-04', 'polkadot', 'polkadot', 6],
      ['2025-11-05', 'asset-hub-polkadot', 'asset-hub-polkadot', 5],
      ['2025-11-05', 'moonbeam', 'moonbeam', 9],
    ]);
  });

  it('for the relay chain has the asset hub on days without a snapshot of the relay chain', async () => {
    expect(await seen('&chain=polkadot')).toEqual([
      ['2024-03-20', 'polkadot', 'polkadot', 600],
      ['2024-03-21', 'polkadot', 'polkadot', 3],
      ['2025-11-04', 'polkadot', 'polkadot', 6],
      ['2025-11-05', 'polkadot', 'asset-hub-polkadot', 5],
    ]);
    expect(await seen('&chain=statemint')).toEqual([
      ['2025-11-04', 'asset-hub-polkadot', 'asset-hub-polkadot', 7],
      ['2025-11-05', 'asset-hub-polkadot', 'asset-hub-polkadot', 5],
    ]);
  });

  it('has counts, and amounts in native tokens', async () => {
    const [row] = await served.ask(`${path}?start_date=2024-03-20&end_date=2024-03-20`);
    expect(row).toEqual({
      relay_chain: 'polkadot',
      chain: 'polkadot',
      date: '2024-03-20',
      source_chain: 'polkadot',
      number_of_validators: 600,
      number_of_nominators: 31276,
      number_of_pool_members: 40,
      number_of_pools: 3,
      number_of_addresses_staking: 70246,
      staked_native: 852516759.37,
      staked_native_in_pools: 0.0123456789,
      unbonding_native: 5e-10,
      minimum_nominator_active_stake: 1,
    });
  });

  it('requires both dates and accepts only polkadot as relay chain', async () => {
    expect(await served.status(`${path}?start_date=2024-03-20`)).toBe(422);
    expect(await served.status(path)).toBe(422);
    expect(await served.status(`${path}?${EVER}&relay_chain=kusama`)).toBe(422);
  });

  it('removes the row of the asset hub from the series of the relay chain when that has a snapshot of the day', async () => {
    const url = `${path}?start_date=2026-01-01&end_date=2026-01-01`;
    await served.take([stakes('statemint', '2026-01-01T00:00:00.000Z', 5)]);
    expect(only(await served.ask(`${url}&chain=polkadot`), 'source_chain')).toEqual([['asset-hub-polkadot']]);
    await served.take([stakes('polkadot', '2026-01-01T00:00:00.000Z', 6)]);
    expect(only(await served.ask(`${url}&chain=polkadot`), 'source_chain')).toEqual([['polkadot']]);
    expect(await served.ask(url)).toHaveLength(2);
  });
});

describe('monthly active validators', () => {
  it('counts the last set of a month, from 2023 on', async () => {
    const row = { relay_chain: 'polkadot', chain: 'polkadot', month: '2024-02-29' };
    const counts = {
      number_of_active_validators: 3,
      number_of_waiting_validators: 17,
      number_of_nominators: 9,
    };
    const [kusama, polkadot, ...others] = await served.ask('/api/monthly-active-validators');
    expect(polkadot).toEqual({ ...row, ...counts });
    expect(kusama).toMatchObject({ relay_chain: 'kusama', number_of_active_validators: 1 });
    expect(others).toEqual([]);
  });

  it('a month is selected by its last day', async () => {
    const path = '/api/monthly-active-validators?chain=polkadot';
    expect(await served.ask(`${path}&start_date=2024-02-15&end_date=2024-02-29`)).toHaveLength(1);
    expect(await served.ask(`${path}&start_date=2024-02-01&end_date=2024-02-28`)).toEqual([]);
    expect(await served.status(`${path}&relay_chain=westend`)).toBe(422);
  });
});

describe('monthly percent staked', () => {
  it('has a row where a chain has snapshots of issuance and stake in the same month', async () => {
    expect(await served.ask(`/api/monthly-percent-staked?${EVER}`)).toEqual([
      {
        relay_chain: 'polkadot',
        chain: 'acala',
        month: '2024-03-31',
        block_number: 55,
        total_issuance: 0,
        total_staked: 0,
        percentage_staked: null,
      },
      {
        relay_chain: 'polkadot',
        chain: 'polkadot',
        month: '2024-03-31',
        block_number: null,
        total_issuance: 1_500_000_000,
        total_staked: 852516759.37,
        percentage_staked: 0.5683445062466667,
      },
    ]);
  });
});

describe('value locked and coins', () => {
  it('serves five chains, and 0 only where a snapshot says 0', async () => {
    expect(await served.ask('/api/defi-tvl')).toEqual([
      { relay_chain: 'polkadot', chain: 'asset-hub-polkadot', date: '2024-12-31', tvl_usd: 2e7 },
      { relay_chain: 'polkadot', chain: 'acala', date: '2025-01-01', tvl_usd: 0 },
      { relay_chain: 'polkadot', chain: 'hydration', date: '2025-01-01', tvl_usd: 123456.789012345 },
    ]);
    expect(await served.ask('/api/defi-tvl?end_date=2024-12-31')).toHaveLength(1);
    expect(await served.status('/api/defi-tvl?chain=acala')).toBe(422);
  });

  it('adds up the holdings of a coin, less the backing of other chains, each with its own decimals', async () => {
    const seen = async (coin: string) =>
      only(await served.ask(`/api/daily-coin-${coin}?${EVER}`), 'date', 'chain', `sum_of_coin_${coin}`);
    expect(await seen('a')).toEqual([
      ['2025-01-01', 'asset-hub-polkadot', 75999999.123457],
      ['2025-01-01', 'hydration', 1.5],
    ]);
    expect(await seen('b')).toEqual([
      ['2025-01-01', 'asset-hub-polkadot', 0.000007],
      ['2025-01-01', 'bifrost', -0.000002],
    ]);
    expect(await served.ask(`/api/daily-coin-a?${EVER}&chain=polkadot`)).toEqual([]);
  });
});

describe('monthly treasury balances', () => {
  const seen = async (query: string) =>
    only(
      await served.ask(`/api/monthly-treasury-balances?${query}`),
      'asset',
      'balance_token',
      'balance_usd',
      'share',
      'balance_native_equivalent',
    );

  it('has a row per asset and a total of the known values, at the price of the snapshot’s day', async () => {
    expect(await seen('chain=polkadot')).toEqual([
      ['DOT', 3.0000000001, 15.0000000005, 150_000_000_005 / 301_500_000_005, 3.0000000001],
      ['MYTH', 2, null, null, null],
      ['USDC', 15, 15.15, 151_500_000_000 / 301_500_000_005, 3.03],
      ['total', null, 30.1500000005, 1, 6.0300000001],
    ]);
  });

  it('keeps the token’s own balance without a price of the token', async () => {
    expect(await seen('chain=asset-hub-kusama')).toEqual([
      ['KSM', 1, null, null, 1],
      ['USDC', 2, 2.02, 1, null],
      ['total', null, 2.02, 1, null],
    ]);
  });

  it('the total is null when no value is known', async () => {
    expect(await seen('chain=moonbeam')).toEqual([
      ['GLMR', 1, null, null, 1],
      ['total', null, null, null, null],
    ]);
  });

  it('uses a price that arrives later, also on a day without blocks and other snapshots', async () => {
    await served.take([
      price('GLMR', '2025-02-28T00:00:00.000Z', 2),
      price('KSM', '2025-01-31T00:00:00.000Z', 20),
    ]);
    expect(await seen('chain=moonbeam')).toEqual([
      ['GLMR', 1, 2, 1, 1],
      ['total', null, 2, 1, 1],
    ]);
    expect(await seen('chain=asset-hub-kusama')).toEqual([
      ['KSM', 1, 20, 2000 / 2202, 1],
      ['USDC', 2, 2.02, 202 / 2202, 0.101],
      ['total', null, 22.02, 1, 1.101],
    ]);
  });
});
