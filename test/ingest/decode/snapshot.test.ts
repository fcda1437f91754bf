import { describe, expect, test } from 'vitest';
import { parseExact } from '../../../ingest/decode/json.ts';
import { parseSnapshot, SNAPSHOT_KINDS } from '../../../ingest/decode/snapshot.ts';

const ALICE = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';
const sale_info = {
  sale_start: 1,
  leadin_length: 1,
  end_price: '1',
  region_begin: 1,
  region_end: 1,
  ideal_cores_sold: 1,
  cores_offered: 1,
  first_core: 1,
  sellout_price: null,
  cores_sold: 0,
};

const PAYLOADS: Record<string, Record<string, unknown>> = {
  staking_state: {
    active_era: 1,
    validators: 1,
    nominators: 1,
    pools: 1,
    pool_members: 1,
    addresses_staking: 1,
    staked: '1',
    staked_in_pools: '1',
    unbonding: '1',
    min_active_stake: '1',
  },
  validator_set: { active: [ALICE], waiting: 1, nominators: 1 },
  issuance: { total: '1', inactive: '1' },
  treasury_balance: { balances: [{ account: ALICE, asset: 'DOT', decimals: 10, amount: '1' }] },
  stable_holdings: {
    holdings: [{ coin: 'coin_a', asset_id: '1337', decimals: 6, issuance: '1', sovereign_held: '0' }],
  },
  tvl: { tvl_usd: 1.5 },
  price: { symbol: 'DOT', usd: 6.12 },
  coretime_config: {
    sale_info,
    reservations: [[{ mask: '0xffffffffffffffffffff', assignment: { task: 1000 } }]],
    leases: [{ task: 2000, until: 1 }],
    core_count: 1,
  },
  contract_code: {
    code: [
      {
        code_hash: '0xaa',
        owner: ALICE,
        code_type: 'PVM',
        code_len: 1,
        deposit: '1',
        refcount: 1,
        behaviour_version: 1,
      },
    ],
    contracts: [{ contract_address: '0xbb', code_hash: '0xaa', storage_bytes: 1, storage_items: 1 }],
  },
  delegations: {
    delegations: [{ delegator: ALICE, target: ALICE, track: 0, conviction: 1, balance: '1' }],
  },
  account_count: { count: 1 },
  child_bounty_ids: { ids: [{ parent: '11', old: '2519', new: '0' }] },
  track_table: { tracks: [{ id: 0, name: 'root', origin: 'Root' }] },
};

const document = (kind: string, payload: unknown = PAYLOADS[kind]) => ({
  schema: 'snapshot/1',
  kind,
  relay_chain: 'polkadot',
  chain: 'statemint',
  block_number: 20_000_000,
  as_of: '2024-03-20T23:59:54.000Z',
  payload,
});

const payloadOf = (kind: string, payload: unknown) => {
  const parsed = parseSnapshot(document(kind, payload));
  return parsed.ok ? parsed.snapshot.payload : parsed.reason;
};

describe('a snapshot', () => {
  test.each(SNAPSHOT_KINDS)('of kind %s is taken as it is described', (kind) => {
    const parsed = parseSnapshot(document(kind));
    expect(parsed).toMatchObject({
      ok: true,
      snapshot: { kind, chain: 'statemint', block_number: 20_000_000 },
    });
  });

  test.each(SNAPSHOT_KINDS)(
    'of kind %s is refused when any of its fields is missing, which is named',
    (kind) => {
      for (const field of Object.keys(PAYLOADS[kind] ?? {})) {
        const { [field]: _, ...rest } = PAYLOADS[kind] ?? {};
        expect(payloadOf(kind, rest)).toMatch(new RegExp(`^payload\\.${field}: `));
      }
    },
  );

  test('keeps only the fields of its kind', () => {
    expect(payloadOf('account_count', { count: 1, key_set: 'x' })).toEqual({ count: 1 });
  });

  test('writes every amount as a decimal string', () => {
    expect(payloadOf('issuance', { total: '0x0100', inactive: 7 })).toEqual({ total: '256', inactive: '7' });
  });

  test.each([['-1'], [-1], ['1.5'], [1.5], ['1,000'], [null], [{}], [(2n ** 128n).toString()]])(
    'is refused for an amount of %j',
    (total) => {
      expect(payloadOf('issuance', { total, inactive: '0' })).toMatch(/^payload\.total: not an integer/);
    },
  );

  test('is refused for a fault deep inside, at its place', () => {
    const balances = [{ account: ALICE, asset: 'DOT', decimals: 10, amount: 'many' }];
    expect(payloadOf('treasury_balance', { balances })).toMatch(/^payload\.balances\.0\.amount: /);
    expect(payloadOf('account_count', { count: 'many' })).toMatch(/^payload\.count: /);
    const delegations = [{ delegator: 'nobody', target: ALICE, track: 0, conviction: 1, balance: '1' }];
    expect(payloadOf('delegations', { delegations })).toBe('payload.delegations.0.delegator: not an address');
    const sold = { ...PAYLOADS.coretime_config, sale_info: { ...sale_info, sellout_price: 'high' } };
    expect(payloadOf('coretime_config', sold)).toMatch(/^payload\.sale_info\.sellout_price: /);
  });

  test.each([
    ['an unknown kind', { kind: 'weather' }, 'kind: unknown kind "weather"'],
    ['another schema', { schema: 'snapshot/2' }, /^schema: /],
    ['a day in place of a moment', { as_of: '2024-03-20' }, /^as_of: /],
    ['a moment that never was', { as_of: '2024-02-30T00:00:00Z' }, /^as_of: /],
    ['a moment without a zone', { as_of: '2024-03-20T23:59:54' }, /^as_of: /],
    ['no chain', { chain: undefined }, /^chain: /],
    ['a payload that is a list', { payload: [] }, /^payload: /],
  ])('is refused for %s', (_, wrong, reason) => {
    const parsed = parseSnapshot({ ...document('price'), ...wrong });
    expect(parsed).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
  });

  test.each([[null], [7], ['text'], [[]], [undefined]])('is not %j', (nothing) => {
    expect(parseSnapshot(nothing).ok).toBe(false);
  });

  test('tells its moment in UTC', () => {
    const parsed = parseSnapshot({ ...document('price'), as_of: '2024-03-21T01:00:00+02:00' });
    expect(parsed).toMatchObject({ ok: true, snapshot: { as_of: '2024-03-20T23:00:00.000Z' } });
  });
});

describe('ids of child bounties', () => {
  const ids = (...entries: readonly [unknown, unknown, unknown][]) =>
    payloadOf('child_bounty_ids', {
      ids: entries.map(([parent, before, after]) => ({ parent, old: before, new: after })),
    });

  test('are digits or integers, kept as digits', () => {
    expect(ids([11, '002519', 0], ['0', '18446744073709551616', 7])).toEqual({
      ids: [
        { parent: '11', old: '2519', new: '0' },
        { parent: '0', old: '18446744073709551616', new: '7' },
      ],
    });
    expect(ids()).toEqual({ ids: [] });
  });

  test.each([[-1], [1.5], ['-1'], ['1.0'], ['0x01'], [''], [null], [{}]])('are not %j', (wrong) => {
    expect(ids([1, 2, 3], [wrong, 4, 5])).toBe(
      'payload.ids.1.parent: neither digits nor an integer of at least 0',
    );
    expect(ids([1, wrong, 5])).toMatch(/^payload\.ids\.0\.old: /);
    expect(ids([1, 4, wrong])).toMatch(/^payload\.ids\.0\.new: /);
  });

  test('stand once each within their parent', () => {
    expect(ids([1, 2, 3], [1, 3, 2], [2, 2, 3])).toMatchObject({ ids: expect.any(Array) });
    expect(ids([1, 2, 3], [1, '02', 4])).toBe('payload.ids.1.old: 2 occurs twice in parent 1');
    expect(ids([1, 2, 3], [2, 2, 3], [1, 4, 3])).toBe('payload.ids.2.new: 3 occurs twice in parent 1');
    expect(payloadOf('child_bounty_ids', { ids: [{ parent: 1, old: 2 }] })).toBe(
      'payload.ids.0.new: missing',
    );
  });
});

describe('a price', () => {
  const usd = (written: string) => payloadOf('price', parseExact(`{"symbol":"DOT","usd":${written}}`));

  test.each([
    ['6.12', '6.12'],
    ['0', '0'],
    ['7', '7'],
    ['0.1', '0.1'],
    ['1.23e-7', '0.000000123'],
    ['1e3', '1000'],
    ['0.12345678901234567890', '0.1234567890123456789'],
    ['12345678901234567890.5', '12345678901234567890.5'],
  ])('of %s is the decimal %s', (written, decimal) => {
    expect(usd(written)).toEqual({ symbol: 'DOT', usd: decimal });
  });

  test.each(['"6.12"', '-1', 'null', '"much"', '1e999'])('of %s is refused', (written) => {
    expect(usd(written)).toMatch(/^payload\.usd: /);
  });

  test('and the value locked on a chain are kept alike', () => {
    expect(payloadOf('tvl', parseExact('{"tvl_usd":123456789.123456789012}'))).toEqual({
      tvl_usd: '123456789.123456789012',
    });
  });
});
