import { z } from 'zod';
import { shapeError } from '../../infra/shape-error.ts';
import { decodeAddress } from '../chains/address.ts';
import { parseAmount } from './amount.ts';
import { plainDecimal } from './json.ts';
import { EARLIEST_MS, LATEST_MS, YEARS } from './years.ts';

// Parses a snapshot: the state of a chain at a moment. Drops unknown fields, and turns amounts into decimal strings.

/** An amount in the smallest unit, in any notation. */
const amount = z.unknown().transform((value, context) => {
  const parsed = parseAmount(value);
  if (parsed !== null) return parsed.toString();
  context.addIssue({ code: 'custom', message: value === undefined ? MISSING : NO_AMOUNT });
  return z.NEVER;
});
const MISSING = 'missing';
const NO_AMOUNT = 'not an integer of at least 0 and below 2^128';

/**
 * A price or a sum in dollars, exactly as written. The parser returns a string for a number that a double would round. Any
 * other string was a string in the document, and is refused.
 */
const dollars = z.unknown().transform((value, context) => {
  const text = typeof value === 'number' ? plainDecimal(String(value)) : roundedByDoubles(value);
  if (text !== null && DOLLARS.test(text)) return text;
  context.addIssue({ code: 'custom', message: value === undefined ? MISSING : NO_DOLLARS });
  return z.NEVER;
});

/** A price with more digits before the point could overflow if multiplied by an amount. */
const DOLLARS = /^\d{1,20}(\.|$)/;
const NO_DOLLARS = 'not a number of at least 0 and below 10^20';

function roundedByDoubles(value: unknown): string | null {
  const text = typeof value === 'string' ? plainDecimal(value) : null;
  return text === value && text !== plainDecimal(String(Number(text))) ? text : null;
}

const count = z.int().nonnegative();
/** Chains store the decimals of an asset in one byte. */
const decimals = count.max(255);
const NO_ID = 'neither digits nor an integer of at least 0';
/** An id of any length, without leading zeros. */
const id = z.unknown().transform((value, context) => {
  const digits = typeof value === 'number' ? String(value) : value;
  if (typeof digits === 'string' && /^\d+$/.test(digits)) return digits.replace(/^0+(?=\d)/, '');
  context.addIssue({ code: 'custom', message: value === undefined ? MISSING : NO_ID });
  return z.NEVER;
});
const text = z.string().min(1);
const hex = z
  .string()
  .regex(/^0x[0-9a-fA-F]*$/, '0x-hex')
  .toLowerCase();
const account = text.refine((address) => decodeAddress(address) !== null, 'not an address');

const PAYLOADS = {
  staking_state: z.object({
    active_era: count,
    validators: count,
    nominators: count,
    pools: count,
    pool_members: count,
    addresses_staking: count,
    staked: amount,
    staked_in_pools: amount,
    unbonding: amount,
    min_active_stake: amount,
  }),
  validator_set: z.object({ active: z.array(text), waiting: count, nominators: count }),
  issuance: z.object({ total: amount, inactive: amount }),
  treasury_balance: z.object({
    balances: z.array(z.object({ account: text, asset: text, decimals, amount })),
  }),
  stable_holdings: z.object({
    holdings: z.array(
      z.object({ coin: text, asset_id: text, decimals, issuance: amount, sovereign_held: amount }),
    ),
  }),
  tvl: z.object({ tvl_usd: dollars }),
  price: z.object({ symbol: text, usd: dollars }),
  coretime_config: z.object({
    sale_info: z.object({
      sale_start: count,
      leadin_length: count,
      end_price: amount,
      region_begin: count,
      region_end: count,
      ideal_cores_sold: count,
      cores_offered: count,
      first_core: count,
      sellout_price: amount.nullable(),
      cores_sold: count,
    }),
    reservations: z.array(
      z.array(z.object({ mask: hex, assignment: z.union([text, z.record(text, z.unknown())]) })),
    ),
    leases: z.array(z.object({ task: count, until: count })),
    core_count: count,
  }),
  contract_code: z.object({
    code: z.array(
      z.object({
        code_hash: hex,
        owner: account,
        code_type: z
          .string()
          .toUpperCase()
          .pipe(z.enum(['PVM', 'EVM'])),
        code_len: count,
        deposit: amount,
        refcount: count,
        behaviour_version: count,
      }),
    ),
    contracts: z.array(
      z.object({ contract_address: hex, code_hash: hex, storage_bytes: count, storage_items: count }),
    ),
  }),
  delegations: z.object({
    delegations: z.array(
      z.object({
        delegator: account,
        target: account,
        track: count,
        conviction: z.int().min(0).max(6),
        balance: amount,
      }),
    ),
  }),
  account_count: z.object({ count }),
  child_bounty_ids: z.object({
    ids: z
      .array(z.object({ parent: id, old: id, new: id }))
      .superRefine(isNamedOnce('old'))
      .superRefine(isNamedOnce('new')),
  }),
  track_table: z.object({ tracks: z.array(z.object({ id: count, name: text, origin: text })) }),
};

/** Refuses duplicate ids of child bounties within a parent. */
function isNamedOnce(name: 'old' | 'new') {
  return (ids: readonly Record<'parent' | 'old' | 'new', string>[], context: z.RefinementCtx) => {
    const known = new Set<string>();
    for (const [i, { parent, [name]: child }] of ids.entries()) {
      const key = `${parent} ${child}`;
      if (known.has(key)) {
        const message = `${child} occurs twice in parent ${parent}`;
        context.addIssue({ code: 'custom', path: [i, name], message });
        return;
      }
      known.add(key);
    }
  };
}

export type SnapshotKind = keyof typeof PAYLOADS;
export const SNAPSHOT_KINDS = Object.keys(PAYLOADS) as SnapshotKind[];

const isTime = (ms: number) => ms >= EARLIEST_MS && ms <= LATEST_MS;

const envelope = z.object({
  schema: z.literal('snapshot/1'),
  kind: z.enum(SNAPSHOT_KINDS, {
    error: ({ input }) => `unknown kind ${JSON.stringify(input)}; known are ${SNAPSHOT_KINDS.join(', ')}`,
  }),
  relay_chain: text,
  chain: text,
  /** Null for prices and locked value, which are not read at a block. */
  block_number: count.nullable().default(null),
  as_of: z.iso
    .datetime({ offset: true, error: 'not a time with its zone, as 2024-03-20T23:59:54Z' })
    .refine((moment) => isTime(Date.parse(moment)), `not in the years ${YEARS.from} to ${YEARS.until - 1}`)
    .transform((moment) => new Date(moment).toISOString()),
  payload: z.record(z.string(), z.unknown()),
});

type Payloads = { [Kind in SnapshotKind]: z.output<(typeof PAYLOADS)[Kind]> };
type SnapshotOf<Kind extends SnapshotKind> = Omit<z.output<typeof envelope>, 'kind' | 'payload'> & {
  kind: Kind;
  payload: Payloads[Kind];
};
type Snapshot = { [Kind in SnapshotKind]: SnapshotOf<Kind> }[SnapshotKind];
type ParsedSnapshot = { ok: true; snapshot: Snapshot } | { ok: false; reason: string };

/** Accepts or refuses a snapshot as a whole. The caller resolves the chain name. */
export function parseSnapshot(document: unknown): ParsedSnapshot {
  const head = envelope.safeParse(document, { error: shapeError });
  if (!head.success) return { ok: false, reason: reasonOf(head.error, []) };
  const payload = PAYLOADS[head.data.kind].safeParse(head.data.payload, { error: shapeError });
  if (!payload.success) return { ok: false, reason: reasonOf(payload.error, ['payload']) };
  return { ok: true, snapshot: { ...head.data, payload: payload.data } as Snapshot };
}

/** The path and message of the first issue: `payload.balances.0.amount: missing`. */
function reasonOf(error: z.ZodError, at: readonly string[]): string {
  const [first] = error.issues;
  const place = [...at, ...(first?.path ?? []).map(String)].join('.');
  return place === '' ? `not a snapshot: ${first?.message}` : `${place}: ${first?.message}`;
}
