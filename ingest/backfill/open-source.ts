import { ProductError } from '../../infra/errors.ts';
import type { Chain } from '../chains/chain.ts';
import { findChain, type Registry, readRegistry } from '../chains/registry.ts';
import { NodeSource } from '../node/node-source.ts';
import { type StateNode, stateNode } from '../node/state/state-node.ts';
import type { BlockService } from '../sources/block-service.ts';
import type { HttpLimits } from '../sources/http-source.ts';
import type { ServiceAddress, SourceOptions } from '../sources/service-address.ts';
import type { SourceSettings } from '../sources/settings.ts';
import { Sidecar } from '../sources/sidecar.ts';

type ServiceLimits = Partial<Pick<HttpLimits, 'attempts' | 'backoffMs' | 'timeoutMs' | 'signal'>>;

export interface OpenedSource {
  readonly service: BlockService;
  readonly chain: Chain;
  readonly registry: Registry;
  /** Why it is not known of which network it is; null where that is known, or nobody asked. */
  readonly unchecked: string | null;
}

/** Connects to a service, and makes sure that it serves the chain: blocks of another one would be hard to get out. */
export async function openSource(
  { chain: name, force = false, ...address }: SourceOptions,
  config: SourceSettings,
  limits: ServiceLimits = {},
): Promise<OpenedSource> {
  const registry = readRegistry(config);
  const chain = findChain(registry, name);
  const service = await connect(address, config, limits);
  const { genesis } = chain;
  // A node whose network begins with the chain's first block serves that chain, whatever its runtime is called.
  if (service instanceof NodeSource && service.genesisHash === genesis)
    return { service, chain, registry, unchecked: null };
  const served = registry.find(service.specName);
  if (served !== chain && !force) {
    const which = served === undefined ? 'no chain of the registry' : served.name;
    throw new ProductError(
      'usage',
      `${service.url} serves the runtime ${service.specName} (${which}), not ${chain.name}; ${FORCE} takes its blocks for those of ${chain.name}`,
    );
  }
  const unchecked = genesis === null || force ? null : await requireGenesis(service, chain, genesis);
  return { service, chain, registry, unchecked };
}

/** Connects to a node whose state is read. */
export async function openStateNode(
  source: SourceOptions,
  config: SourceSettings,
  limits: ServiceLimits = {},
): Promise<StateNode> {
  const { service } = await openSource(source, config, limits);
  if (service instanceof NodeSource)
    return stateNode({ rpc: service.rpc, block: (hash) => service.block(hash) });
  throw new ProductError('usage', `${service.url} is no node: give one with --node`);
}

/** A block is asked for twice, then its height is skipped and retried later with more time. */
export const BLOCK_MS = 10_000;

function connect(
  { url, isNode = false }: ServiceAddress,
  config: SourceSettings,
  limits: ServiceLimits,
): Promise<BlockService> {
  return isNode
    ? NodeSource.connect(url, { answerBytes: config.LINE_BYTES_MAX, timeoutMs: BLOCK_MS, ...limits })
    : Sidecar.connect(url, { bodyBytes: config.LINE_BYTES_MAX, blockMs: BLOCK_MS, ...limits });
}

/** The chain that nodes serve, by the first block of the network of the first one that answers. */
export async function recognizeChain(urls: readonly string[], config: SourceSettings): Promise<Chain> {
  const registry = readRegistry(config);
  const node = await connectToFirst(urls);
  const hash = node.genesisHash;
  const chain = registry.chains.find(({ genesis }) => genesis === hash);
  if (chain) return chain;
  throw new ProductError(
    'unknown_chain',
    `${node.url} serves a network that begins with the block ${hash}, which no known chain does: name one with --chain, or add yours with CHAINS_FILE, with this hash as its genesis`,
  );
}

async function connectToFirst([url = '', ...others]: readonly string[]): Promise<NodeSource> {
  try {
    return await NodeSource.connect(url);
  } catch (error) {
    if (others.length === 0 || !(error instanceof ProductError)) throw error;
    return connectToFirst(others);
  }
}

/** How the options of a command, a file of sources and the settings say it. */
const FORCE = '--force (`force: true` in a file of sources, FOLLOW_FORCE beside FOLLOW)';

/**
 * Test networks and forks run the runtimes of other chains. A service that does not tell where its network begins is
 * taken at its runtime's word; returns why it does not.
 */
async function requireGenesis(
  service: BlockService,
  { name }: Chain,
  expected: string,
): Promise<string | null> {
  const genesis = await service.genesis();
  if ('untold' in genesis)
    return `not checked whether its network begins with the block of ${name}: ${genesis.untold}`;
  if (agrees(genesis.hash, expected)) return null;
  throw new ProductError(
    'usage',
    `${service.url} serves a network that begins with the block ${genesis.hash}, and ${name} begins with ${expected}; ${FORCE} takes its blocks for those of ${name}`,
  );
}

/** polkadot-rest-api tells the ends of the hash only: `0x91b1…90c3`. */
function agrees(told: string, whole: string): boolean {
  const [begin = '', end] = told.split('…');
  return end === undefined ? told === whole : whole.startsWith(begin) && whole.endsWith(end);
}
