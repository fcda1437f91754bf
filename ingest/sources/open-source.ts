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

/** Connects to a service, and makes sure that it serves the chain: blocks of another one would be hard to get out. */
export async function openSource(
  { url, chain: name, force = false }: SourceOptions,
  config: IngestSettings,
  limits: Partial<SidecarLimits> = {},
): Promise<{ sidecar: Sidecar; chain: Chain; registry: Registry }> {
  const registry = readRegistry(config);
  const chain = findChain(registry, name);
  const sidecar = await Sidecar.connect(url, { bodyBytes: config.LINE_BYTES_MAX, ...limits });
  const served = registry.find(sidecar.specName);
  if (served !== chain && !force) {
    const which = served === undefined ? 'no chain of the registry' : served.name;
    throw new ProductError(
      'usage',
      `${url} serves the runtime ${sidecar.specName} (${which}), not ${chain.name}; --force takes its blocks for those of ${chain.name}`,
    );
  }
  if (chain.genesis !== null && !force) await requireGenesis(sidecar, chain, chain.genesis);
  return { sidecar, chain, registry };
}

/** Test networks and forks run the runtimes of other chains. */
async function requireGenesis(sidecar: Sidecar, { name }: Chain, expected: string): Promise<void> {
  const genesis = await sidecar.genesis();
  if (genesis === null || agrees(genesis, expected)) return;
  throw new ProductError(
    'usage',
    `${sidecar.url} serves a network that begins with the block ${genesis}, and ${name} begins with ${expected}; --force takes its blocks for those of ${name}`,
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
    `no chain is called ${name}${near && `: ${near}`}; a chain of your own is added with CHAINS_FILE`,
  );
}
