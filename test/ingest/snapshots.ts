import { ALICE } from './made.ts';

/** The snapshot of a price, unless more is given. */
export const snapshot = (more: object = {}) => ({
  schema: 'snapshot/1',
  kind: 'price',
  relay_chain: 'polkadot',
  chain: 'polkadot',
  as_of: '2026-01-02T23:00:00Z',
  payload: { symbol: 'DOT', usd: 6.12 },
  ...more,
});

/** Snapshots that are refused, and why. */
export const wrongSnapshots: readonly [title: string, document: object, reason: RegExp][] = [
  ['an unknown kind', snapshot({ kind: 'weather' }), /^kind: unknown kind "weather"; known are .*price/],
  ['no payload', snapshot({ payload: undefined }), /^payload: missing$/],
  ['a missing field', snapshot({ payload: { symbol: 'DOT' } }), /^payload\.usd: missing$/],
  [
    'a missing list',
    snapshot({ kind: 'validator_set', payload: { waiting: 1, nominators: 1 } }),
    /^payload\.active: missing$/,
  ],
  [
    'a count that is text',
    snapshot({ kind: 'account_count', payload: { count: '1' } }),
    /^payload\.count: not a number$/,
  ],
  [
    'a price that is text',
    snapshot({ payload: { symbol: 'DOT', usd: '6.12' } }),
    /^payload\.usd: not a number/,
  ],
  [
    'a negative price',
    snapshot({ payload: { symbol: 'DOT', usd: -1 } }),
    /^payload\.usd: not a number of at least 0 and below 10\^20$/,
  ],
  [
    'a price of more digits than an amount can be multiplied with',
    snapshot({ payload: { symbol: 'DOT', usd: 1e20 } }),
    /^payload\.usd: not a number of at least 0 and below 10\^20$/,
  ],
  [
    'a moment before any chain',
    snapshot({ as_of: '1969-12-31T00:00:00Z' }),
    /^as_of: not in the years 2015 to 2099$/,
  ],
  ['a moment that is none', snapshot({ as_of: 'yesterday' }), /^as_of: not a time with its zone, as /],
  [
    'an amount with separators',
    snapshot({ kind: 'issuance', payload: { total: '1,000', inactive: '0' } }),
    /^payload\.total: not an integer/,
  ],
  [
    'a bad address',
    snapshot({
      kind: 'delegations',
      payload: {
        delegations: [{ delegator: 'nobody', target: ALICE, track: 0, conviction: 1, balance: '1' }],
      },
    }),
    /^payload\.delegations\.0\.delegator: not an address$/,
  ],
  [
    'an unknown chain',
    snapshot({ kind: 'tvl', chain: 'atlantis', payload: { tvl_usd: 1 } }),
    /^chain: unknown atlantis of polkadot$/,
  ],
  [
    'a price under an unknown relay chain',
    snapshot({ chain: 'atlantis', relay_chain: 'lemuria' }),
    /^chain: unknown atlantis of lemuria$/,
  ],
  ['a version that is none', snapshot({ version: 'x' }), /^version: not a decimal string$/],
];
