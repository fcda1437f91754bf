import { ProductError } from '../../infra/errors.ts';
import { didYouMean } from '../../infra/nearest-name.ts';
import type { Chain } from '../chains/chain.ts';
import { namesOf, type Registry, readRegistry } from '../chains/registry.ts';
import type { IngestSettings } from '../settings.ts';
import { Sidecar, type SidecarLimits } from './sidecar.ts';

/** Which service is asked, and for which chain its blocks are taken. */
export interface SourceOptions {
  readonly url: string;
  readonly chain: string;
  /** Take the blocks for that chain's although the service names its runtime otherwise. */
  readonly force?: boolean;
}

export interface OpenedSource {
  readonly sidecar: Sidecar;
  readonly chain: Chain;
  readonly registry: Registry;
  /** Why it is not known of which network it is; null where that is known, or nobody asked. */
  readonly unchecked: string | null;
}

/** Connects to a service, and makes sure that it serves the chain: blocks of another one would be hard to get out. */
export async function openSource(
  { url, chain: name, force = false }: SourceOptions,
  config: IngestSettings,
  limits: Partial<SidecarLimits> = {},
): Promise<OpenedSource> {
  const registry = readRegistry(config);
  const chain = findChain(registry, name);
  const sidecar = await Sidecar.connect(url, {
    bodyBytes: config.LINE_BYTES_MAX,
    blockMs: config.BLOCK_TIMEOUT_SECONDS * 1000,
    ...limits,
  });
  const served = registry.find(sidecar.specName);
  if (served !== chain && !force) {
    const which = served === undefined ? 'no chain of the registry' : served.name;
    throw new ProductError(
      'usage',
      `${url} serves the runtime ${sidecar.specName} (${which}), not ${chain.name}; ${FORCE} takes its blocks for those of ${chain.name}`,
    );
  }
  const { genesis } = chain;
  const unchecked = genesis === null || force ? null : await requireGenesis(sidecar, chain, genesis);
  return { sidecar, chain, registry, unchecked };
}

/** How the options of a command, a file of sources and the settings say it. */
const FORCE = '--force (`force: true` in a file of sources, FOLLOW_FORCE beside FOLLOW)';

/**
 * Test networks and forks run the runtimes of other chains. A service that does not tell where its network begins is
 * taken at its runtime's word; returns why it does not.
 */
async function requireGenesis(sidecar: Sidecar, { name }: Chain, expected: string): Promise<string | null> {
  const genesis = await sidecar.genesis();
  if ('untold' in genesis)
    return `not checked whether its network begins with the block of ${name}: ${genesis.untold}`;
  if (agrees(genesis.hash, expected)) return null;
  throw new ProductError(
    'usage',
    `${sidecar.url} serves a network that begins with the block ${genesis.hash}, and ${name} begins with ${expected}; ${FORCE} takes its blocks for those of ${name}`,
  );
}

/** polkadot-rest-api tells the ends of the hash only: `0x91b1…90c3`. */
function agrees(told: string, whole: string): boolean {
  const [begin = '', end] = told.split('…');
  return end === undefined ? told === whole : whole.startsWith(begin) && whole.endsWith(end);
}

export function findChain(registry: Registry, name: string): Chain {
  const chain = registry.find(name);
  if (chain) return chain;
  const near = didYouMean(name, namesOf(registry));
  throw new ProductError(
    'unknown_chain',
    `no chain is called ${name}${near && `: ${near}`}; \`chain-metrics chains\` lists them, and one of your own is added with CHAINS_FILE`,
  );
}
