import { z } from 'zod';
import { SS58_PREFIX_MAX } from './address.ts';

export const RELAY_CHAINS = ['polkadot', 'kusama', 'westend', 'solo'] as const;
export type RelayChain = (typeof RELAY_CHAINS)[number];

// Names occur in file names, record keys and query strings.
const chainName = z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, 'lowercase letters, digits, - and _');
const day = z.iso.date();
const since = z.strictObject({ since: day }).nullable().default(null);

/** One chain of the registry, as the table and `CHAINS_FILE` write it. */
export const chainShape = z
  .strictObject({
    name: chainName,
    aliases: z.array(chainName).default([]),
    relay_chain: z.enum(RELAY_CHAINS),
    para_id: z.int().nonnegative().nullable().default(null),
    accounts: z.enum(['ss58', 'h160']).default('ss58'),
    ss58_prefix: z.int().min(0).max(65535),
    token: z.string().min(1),
    // Values in USD have 48 exact decimals: 18 of the token and 30 of the price.
    decimals: z.int().min(0).max(18),
    /** Nominal seconds between blocks, oldest first; default: the usual ones of the role. */
    block_times: z
      .array(z.strictObject({ since: day, seconds: z.number().positive() }))
      .min(1)
      .refine(
        (steps) => steps.every(({ since }, i) => i === 0 || since > (steps[i - 1]?.since ?? '')),
        'not oldest first',
      )
      .optional(),
    role: chainName.default('parachain'),
    staking: since,
    governance: since,
    treasury: since,
    valid_from: day.nullable().default(null),
    valid_to: day.nullable().default(null),
    /** Hash of the first block, to detect sources of another network; not checked if absent. */
    genesis: z
      .string()
      .regex(/^0x[0-9a-f]{64}$/, '0x and 64 lowercase hexadecimal digits')
      .nullable()
      .default(null),
  })
  // A chain that never prints SS58 may have a larger prefix.
  .refine(
    (chain) => chain.accounts === 'h160' || chain.ss58_prefix <= SS58_PREFIX_MAX,
    `ss58_prefix above ${SS58_PREFIX_MAX}`,
  )
  .transform((chain) => ({ ...chain, block_times: chain.block_times ?? usualBlockTimes(chain) }));

export type ChainInput = z.input<typeof chainShape>;
export type Chain = z.output<typeof chainShape>;

/** Nominal seconds between two blocks on a day. */
export function secondsPerBlock({ block_times }: Pick<Chain, 'block_times'>, today: string): number {
  const step = block_times.findLast(({ since }) => since <= today) ?? block_times[0];
  return (step as Chain['block_times'][number]).seconds;
}

/** Parachains went from twelve to six seconds with asynchronous backing. */
function usualBlockTimes(chain: { role: string; relay_chain: RelayChain }) {
  const six = (from: string) => ({ since: from, seconds: 6 });
  if (chain.role === 'relay' || chain.relay_chain === 'solo') return [six('2019-01-01')];
  return [{ since: '2019-01-01', seconds: 12 }, six('2025-01-01')];
}
