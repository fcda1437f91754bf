import type { MetricEndpoint } from '../../aggregate/metric.ts';
import { didYouMean } from '../../infra/nearest-name.ts';
import { ECOSYSTEM } from '../../ingest/chains/ecosystem.ts';
import { namesOf, type Registry } from '../../ingest/chains/registry.ts';
import { invalidParameter } from '../http/errors.ts';

// For an unknown chain the API returns no rows and a header, because a chain may be added any day. Pages reject it: on an
// empty page a visitor would not notice a typo.

/** Throws if the requested chain is unknown or this path does not serve its relay chain. */
export function requireKnownChain(
  { relay_chain, chain: name }: { readonly relay_chain?: unknown; readonly chain?: unknown },
  endpoint: Pick<MetricEndpoint, 'relays'>,
  registry: Registry,
): void {
  if (typeof name !== 'string' || name === ECOSYSTEM) return;
  const chain = registry.find(name);
  if (chain === undefined) {
    throw invalidParameter('chain', unknownChain(name, registry), name);
  }
  if (typeof relay_chain === 'string' && chain.relay_chain !== relay_chain) {
    throw invalidParameter(
      'chain',
      `${chain.name} is a chain of ${chain.relay_chain}, not of ${relay_chain}`,
      name,
    );
  }
  const relays: readonly string[] = endpoint.relays;
  if (!relays.includes(chain.relay_chain)) {
    throw invalidParameter(
      'chain',
      `${chain.name} is a chain of ${chain.relay_chain}; this list covers only ${relays.join(', ')}`,
      name,
    );
  }
}

/** The response header for an unknown chain. */
export function unknownChainHeader(
  { chain }: { readonly chain: string | undefined },
  registry: Registry,
): Readonly<Record<string, string>> {
  if (chain === undefined || chain === ECOSYSTEM || registry.find(chain) !== undefined) return {};
  return { 'x-unknown-chain': `${unknownChain(chain, registry)} (/api/status lists those with blocks)` };
}

function unknownChain(name: string, registry: Registry): string {
  const near = didYouMean(name, namesOf(registry));
  return `no chain is called that${near && `: ${near}`}`;
}
