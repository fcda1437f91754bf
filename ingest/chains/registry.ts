import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { didYouMean } from '../../infra/nearest-name.ts';
import { type Chain, chainShape, RELAY_CHAINS, type RelayChain } from './chain.ts';
import { ECOSYSTEM } from './ecosystem.ts';
import { GENESIS } from './genesis.ts';
import { CHAINS } from './table.ts';

export type Registry = {
  chains: readonly Chain[];
  /** Finds a chain by name or alias, ignoring case; undefined if it is unknown or belongs to another relay chain. */
  find: (nameOrAlias: string, relayChain?: string) => Chain | undefined;
  relayOf: (nameOrAlias: string) => RelayChain | undefined;
};

/** The built-in chains, and those of `extraFile`: a JSON array of the same shape. */
export function loadRegistry(extraFile?: string): Registry {
  const extra: unknown = extraFile === undefined ? [] : JSON.parse(readFileSync(extraFile, 'utf8'));
  const known = CHAINS.map((chain) => ({ ...chain, genesis: GENESIS[chain.name] ?? null }));
  return buildRegistry([...known, ...parseList(extra, extraFile)]);
}

export function buildRegistry(input: readonly unknown[]): Registry {
  const chains = input.map(parseChain);
  const byName = indexByName(chains);
  const find: Registry['find'] = (nameOrAlias, relayChain) => {
    const chain = byName.get(nameOrAlias.toLowerCase());
    if (relayChain !== undefined && chain?.relay_chain !== relayChain.toLowerCase()) return undefined;
    return chain;
  };
  return {
    chains,
    find,
    relayOf: (name) => find(name)?.relay_chain,
  };
}

/** All names and aliases of chains. */
export const namesOf = ({ chains }: Pick<Registry, 'chains'>): string[] =>
  chains.flatMap(({ name, aliases }) => [name, ...aliases]);

/** Throws `unknown_chain` with the nearest name. */
export function findChain(registry: Registry, name: string): Chain {
  const chain = registry.find(name);
  if (chain) return chain;
  const near = didYouMean(name, namesOf(registry));
  throw new ProductError(
    'unknown_chain',
    `no chain is called ${name}${near && `: ${near}`}; \`chain-metrics chains\` lists them; add your own with CHAINS_FILE`,
  );
}

/**
 * The chain under which a snapshot is stored. A price belongs to its token, so its chain may belong to another relay chain.
 * The chain of a price may also be unknown; then its name is kept.
 */
export function placeOfSnapshot(
  registry: Pick<Registry, 'find'>,
  { kind, chain, relay_chain }: { kind: unknown; chain: string; relay_chain: string | undefined },
): Pick<Chain, 'relay_chain' | 'name'> | undefined {
  if (kind !== 'price') return registry.find(chain, relay_chain);
  const relay = RELAY_CHAINS.find((known) => known === relay_chain?.toLowerCase());
  const unknown = relay && chain.length <= NAME_CHARS_MAX ? { relay_chain: relay, name: chain } : undefined;
  return registry.find(chain) ?? unknown;
}
const NAME_CHARS_MAX = 100;

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
      if (name === ECOSYSTEM) throw new Error(`Chain registry: "${name}" is the name of aggregate rows`);
      byName.set(name, chain);
    }
  }
  return byName;
}

/** The registry with the chains of `CHAINS_FILE`. Throws `setting_invalid` if that file cannot be read. */
export function readRegistry({ CHAINS_FILE }: { readonly CHAINS_FILE?: string | undefined }): Registry {
  try {
    return loadRegistry(CHAINS_FILE);
  } catch (error) {
    throw new ProductError('setting_invalid', `CHAINS_FILE=${CHAINS_FILE}: ${reasonOf(error)}`);
  }
}
