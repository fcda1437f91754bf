import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import type { Environment } from '../../infra/config/read.ts';
import { DAY_MS } from '../../infra/days.ts';
import type { Registry } from '../chains/registry.ts';
import { findChain } from '../chains/registry.ts';
import { address, isAddress, nodeAddress } from '../sources/address-schemas.ts';
import { concurrencyOf } from '../sources/service-address.ts';
import type { ValuePlan } from '../sources/values/value-feed.ts';
import { FEED_KEYS, feedsShape, valuePlansOf } from '../sources/values/value-plans.ts';
import type { BlockOrigin, ChainPlan } from './chain-backfill.ts';
import { boundOf } from './range-bounds.ts';
import { YamlFile } from './yaml-file.ts';

/** The content of a sources file. */
export interface Sources {
  /** Concurrent requests of all chains. */
  readonly concurrency: number;
  readonly chains: readonly ChainPlan[];
  /** Feeds of prices and of locked value. The feeds of one kind are used in order. */
  readonly values: readonly ValuePlan[];
}

const CHAINS_MAX = 100;
const SOURCES_MAX = 16;
const CONCURRENCY_MAX = 256;
const CONCURRENCY_OF_ALL = 32;
const CONCURRENCY_OF_ALL_WITH_NODES = 512;

const concurrency = z.int().min(1).max(CONCURRENCY_MAX);
const edge = z.custom<number | string>(
  (value) => z.int().min(0).safeParse(value).success || z.iso.date().safeParse(value).success,
  'is neither a height nor a day such as 2024-01-31',
);

const source = z
  .strictObject({
    node: nodeAddress.optional(),
    url: address.optional(),
    archive: z.string().min(1).optional(),
    concurrency: concurrency.optional(),
    force: z.boolean().optional(),
  })
  .refine(
    ({ node, url, archive }) => [node, url, archive].filter((address) => address !== undefined).length === 1,
    'needs exactly one of node (ws or http URL), url (a Sidecar or polkadot-rest-api) and archive (a file, directory or URL)',
  )
  .refine(
    ({ archive }) => archive === undefined || !isAddress(archive) || address.safeParse(archive).success,
    'must not contain a username or password, because messages show it',
  );
type SourceInput = z.output<typeof source>;
const chain = z.strictObject({
  chain: z.string(),
  from: edge.optional(),
  to: edge.optional(),
  sources: z.array(source).min(1, 'names no source').max(SOURCES_MAX),
});
const file = z
  .strictObject({
    concurrency: concurrency.optional(),
    chains: z.array(chain).max(CHAINS_MAX).default([]),
    prices: feedsShape.optional(),
    tvl: feedsShape.optional(),
  })
  .refine(
    ({ chains, prices, tvl }) => chains.length > 0 || prices !== undefined || tvl !== undefined,
    'names neither chains nor prices nor tvl',
  );
const KEYS = [...[file, chain, source].flatMap(({ shape }) => Object.keys(shape)), ...FEED_KEYS];

/** Reads a sources file, YAML or JSON. Throws `usage` with the line of the error. */
export function readSourcesFile(path: string, registry: Registry, env: Environment = process.env): Sources {
  const yaml = new YamlFile(path);
  const { concurrency, chains, prices, tvl } = yaml.parse(file, KEYS);
  const hasNodes = chains.some(({ sources }) => sources.some(({ node }) => node !== undefined));
  const directory = dirname(path);
  const contextOf = (key: string) => ({
    ...{ registry, directory, env },
    inPlace: <T>(place: readonly PropertyKey[], read: () => T) => yaml.atPath([key, ...place], read),
  });
  const plans = chains.map((entry, i) => planOf(entry, { yaml, registry, directory, i }));
  plans.forEach(({ chain }, i) => {
    const first = plans.findIndex((other) => other.chain === chain);
    if (first < i) throw yaml.errorAt(['chains', i, 'chain'], `repeats ${chain.name}: list each chain once`);
  });
  return {
    concurrency: concurrency ?? (hasNodes ? CONCURRENCY_OF_ALL_WITH_NODES : CONCURRENCY_OF_ALL),
    chains: plans,
    values: [
      ...valuePlansOf('price', prices ?? [], contextOf('prices')),
      ...valuePlansOf('tvl', tvl ?? [], contextOf('tvl')),
    ],
  };
}

function planOf(
  { chain: name, from = 0, to, sources }: z.output<typeof chain>,
  { yaml, registry, directory, i }: { yaml: YamlFile; registry: Registry; directory: string; i: number },
): ChainPlan {
  const edges = { from: boundOf(from, 0), to: to === undefined ? undefined : boundOf(to, DAY_MS) };
  if (isEmpty(edges)) throw yaml.errorAt(['chains', i, 'from'], 'is greater than to');
  return {
    chain: yaml.atPath(['chains', i, 'chain'], () => findChain(registry, name)),
    ...edges,
    sources: sources.map((source) => originOf(source, directory)),
  };
}

function originOf(
  { node, url = node, archive = '', concurrency, force }: SourceInput,
  directory: string,
): BlockOrigin {
  if (url === undefined) return { archive: isAddress(archive) ? archive : resolve(directory, archive) };
  const address = node === undefined ? { url } : { url, isNode: true };
  return { ...address, concurrency: concurrency ?? concurrencyOf(address), force };
}

function isEmpty({ from, to }: Pick<ChainPlan, 'from' | 'to'>): boolean {
  if (to === undefined) return false;
  if ('height' in from && 'height' in to) return from.height > to.height;
  return 'time' in from && 'time' in to && from.time >= to.time;
}
