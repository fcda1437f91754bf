import { ProductError } from '../../../infra/errors.ts';
import type { ChainPlan } from '../../../ingest/backfill/chain-backfill.ts';
import type { RangeBound } from '../../../ingest/backfill/range-bounds.ts';
import type { Sources } from '../../../ingest/backfill/sources-file.ts';
import { findChain, readRegistry } from '../../../ingest/chains/registry.ts';
import { concurrencyOf } from '../../../ingest/sources/service-address.ts';
import type { Config } from '../../settings/settings.ts';

/** Options that name the services of a chain. */
export interface ServiceOptions {
  readonly url?: string;
  readonly node?: readonly string[];
  readonly chain?: string;
  readonly concurrency?: number;
  readonly force?: boolean;
}

/** Sources of one chain: nodes in their order, then the Sidecar. */
export async function sourcesOfOptions(
  { url, node: nodes = [], chain: name, concurrency, force }: ServiceOptions,
  config: Config,
  heights: { readonly from: RangeBound; readonly to?: RangeBound | undefined } = { from: { height: 0 } },
): Promise<Sources> {
  if (nodes.length === 0 && (url === undefined || name === undefined)) {
    throw new ProductError('usage', 'pass --node, or --url and --chain, or --sources FILE');
  }
  const { detectChain: recognizeChain } = await import('../../../ingest/backfill/open-source.ts');
  const chain =
    name === undefined ? await recognizeChain(nodes, config) : findChain(readRegistry(config), name);
  const services = [
    ...nodes.map((address) => ({ url: address, isNode: true })),
    ...(url === undefined ? [] : [{ url, isNode: false }]),
  ];
  const sources = services.map((address) => ({
    ...address,
    concurrency: concurrency ?? concurrencyOf(address),
    force,
  }));
  const plan: ChainPlan = { chain, ...heights, sources };
  return {
    concurrency: Math.max(...sources.map((source) => source.concurrency)),
    chains: [plan],
    values: [],
  };
}
