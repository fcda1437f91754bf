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
  /** Reason why the genesis block was not checked; null if it was checked or needed no check. */
  readonly unchecked: string | null;
}

/** Connects to a service and checks that it serves the chain: blocks of another chain would be hard to remove. */
export async function openSource(
  { chain: name, force = false, ...address }: SourceOptions,
  config: SourceSettings,
  limits: ServiceLimits = {},
): Promise<OpenedSource> {
  const registry = readRegistry(config);
  const chain = findChain(registry, name);
  const service = await connect(address, config, limits);
  const { genesis } = chain;
  // The genesis block identifies the chain, whatever the name of the runtime.
  if (service instanceof NodeSource && service.genesisHash === genesis)
    return { service, chain, registry, unchecked: null };
  const served = registry.find(service.specName);
  if (served !== chain && !force) {
    const servedName = served === undefined ? 'no chain of the registry' : served.name;
    throw new ProductError(
      'usage',
      `${service.url} serves the runtime ${service.specName} (${servedName}), not ${chain.name}; to accept its blocks as ${chain.name}, set ${FORCE}`,
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
  throw new ProductError('usage', `${service.url} is not a node: pass the address of a node with --node`);
}

/** Time limit of a block. After that the height is skipped, and retried later with more time. */
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

/** Detects the chain by the genesis block of the first node that answers. */
export async function detectChain(urls: readonly string[], config: SourceSettings): Promise<Chain> {
  const registry = readRegistry(config);
  const node = await connectToFirst(urls);
  const hash = node.genesisHash;
  const chain = registry.chains.find(({ genesis }) => genesis === hash);
  if (chain) return chain;
  throw new ProductError(
    'unknown_chain',
    `${node.url} has the genesis block ${hash}, which no known chain has: name the chain with --chain, or add it to CHAINS_FILE with this hash as \`genesis\``,
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

const FORCE = '--force (`force: true` in a sources file, FOLLOW_FORCE with FOLLOW)';

/**
 * Checks the genesis block, because test networks and forks run the runtimes of other chains. If the service does not
 * return its genesis block, returns the reason, and the runtime name alone decides.
 */
async function requireGenesis(
  service: BlockService,
  { name }: Chain,
  expected: string,
): Promise<string | null> {
  const genesis = await service.genesis();
  if ('unavailable' in genesis)
    return `its genesis block was not compared with that of ${name}: ${genesis.unavailable}`;
  if (isSameHash(genesis.hash, expected)) return null;
  throw new ProductError(
    'usage',
    `${service.url} has the genesis block ${genesis.hash}, but that of ${name} is ${expected}; to accept its blocks as ${name}, set ${FORCE}`,
  );
}

/** polkadot-rest-api returns only both ends of the hash: `0x91b1…90c3`. */
function isSameHash(hash: string, expected: string): boolean {
  const [begin = '', end] = hash.split('…');
  return end === undefined ? hash === expected : expected.startsWith(begin) && expected.endsWith(end);
}
