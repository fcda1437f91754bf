import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { IngestSettings } from '../settings.ts';
import { CHAINS } from './table.ts';

export const RELAY_CHAINS = ['polkadot', 'kusama', 'westend', 'solo'] as const;
export type RelayChain = (typeof RELAY_CHAINS)[number];

// Names travel in file names, record keys and query strings.
const chainName = z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, 'lowercase letters, digits, - and _');
const day = z.iso.date();
const since = z.strictObject({ since: day }).nullable().default(null);

const chainShape = z
  .strictObject({
    name: chainName,
    aliases: z.array(chainName).default([]),
    relay_chain: z.enum(RELAY_CHAINS),
    para_id: z.int().nonnegative().nullable().default(null),
    accounts: z.enum(['ss58', 'h160']).default('ss58'),
    ss58_prefix: z.int().min(0).max(65535),
    token: z.string().min(1),
    // USD are exact to 48 decimals: 18 of the token and 30 of its price.
    decimals: z.int().min(0).max(18),
    /** Nominal seconds between blocks, oldest first; left out, the usual ones of the role. */
    block_times: z
      .array(z.strictObject({ since: day, seconds: z.number().positive() }))
      .min(1)
      .optional(),
    role: chainName.default('parachain'),
    staking: since,
    governance: since,
    treasury: since,
    valid_from: day.nullable().default(null),
    valid_to: day.nullable().default(null),
  })
  // Two bytes hold prefixes up to 16383; a chain that never prints SS58 may have registered beyond.
  .refine((chain) => chain.accounts === 'h160' || chain.ss58_prefix <= 16383, 'ss58_prefix above 16383')
  .transform((chain) => ({ ...chain, block_times: chain.block_times ?? usualBlockTimes(chain) }));

export type ChainInput = z.input<typeof chainShape>;
export type Chain = z.output<typeof chainShape>;

export type Registry = {
  chains: readonly Chain[];
  /** By name or alias, in any case; undefined when unknown or when it belongs to another relay chain. */
  find: (nameOrAlias: string, relayChain?: string) => Chain | undefined;
  relayOf: (nameOrAlias: string) => RelayChain | undefined;
};

/** Parachains went from twelve to six seconds with asynchronous backing. */
function usualBlockTimes(chain: { role: string; relay_chain: RelayChain }) {
  const six = (from: string) => ({ since: from, seconds: 6 });
  if (chain.role === 'relay' || chain.relay_chain === 'solo') return [six('2019-01-01')];
  return [{ since: '2019-01-01', seconds: 12 }, six('2025-01-01')];
}

/** The built-in chains, and those of `extraFile`: a JSON array of the same shape. */
export function loadRegistry(extraFile?: string): Registry {
  const extra: unknown = extraFile === undefined ? [] : JSON.parse(readFileSync(extraFile, 'utf8'));
  return buildRegistry([...CHAINS, ...parseList(extra, extraFile)]);
}

export function buildRegistry(input: readonly unknown[]): Registry {
  const chains = input.map(parseChain);
  const byName = indexByName(chains);
  const find: Registry['find'] = (nameOrAlias, relayChain) => {
    const chain = byName.get(nameOrAlias.toLowerCase());
    if (relayChain !== undefined && chain?.relay_chain !== relayChain.toLowerCase()) return undefined;
    return chain;
  };
  return { chains, find, relayOf: (name) => find(name)?.relay_chain };
}

function parseList(content: unknown, file: string | undefined): unknown[] {
  if (Array.isArray(content)) return content;
  throw new Error(`Chain registry ${file}: expected a JSON array of chains`);
}

function parseChain(chain: unknown): Chain {
  const parsed = chainShape.safeParse(chain);
  if (parsed.success) return parsed.data;
  const name = (chain as { name?: unknown } | null)?.name;
  throw new Error(`Chain registry, chain ${JSON.stringify(name)}: ${z.prettifyError(parsed.error)}`);
}

function indexByName(chains: readonly Chain[]): Map<string, Chain> {
  const byName = new Map<string, Chain>();
  for (const chain of chains) {
    for (const name of [chain.name, ...chain.aliases]) {
      const other = byName.get(name);
      if (other) throw new Error(`Chain registry: "${name}" names both ${other.name} and ${chain.name}`);
      if (name === 'ecosystem') throw new Error('Chain registry: "ecosystem" is the name of aggregate rows');
      byName.set(name, chain);
    }
  }
  return byName;
}

/** The registry with the chains of `CHAINS_FILE`. Throws `setting_invalid` when that file cannot be read. */
export function readRegistry({ CHAINS_FILE }: Pick<IngestSettings, 'CHAINS_FILE'>): Registry {
  try {
    return loadRegistry(CHAINS_FILE);
  } catch (error) {
    throw new ProductError('setting_invalid', `CHAINS_FILE=${CHAINS_FILE}: ${reasonOf(error)}`);
  }
}
