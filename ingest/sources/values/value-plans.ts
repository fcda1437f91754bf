import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import type { Environment } from '../../../infra/config/read.ts';
import { didYouMean } from '../../../infra/nearest-name.ts';
import type { Chain } from '../../chains/chain.ts';
import type { Registry } from '../../chains/registry.ts';
import { findChain } from '../../chains/registry.ts';
import { type AtPath, address } from '../address-schemas.ts';
import type { ValueKind } from './adapter.ts';
import { adapterOf, adaptersOf } from './adapters.ts';
import type { ValuePlan, ValueSeries } from './value-feed.ts';

const SERIES_MAX = 200;
const ID_CHARACTERS_MAX = 200;
const KEY_CHARACTERS_MAX = 1000;
const REQUESTS_PER_MINUTE_MAX = 6000;
const FEEDS_MAX = 10;

const day = z.iso.date('is not a date of the form YYYY-MM-DD');
const feed = z
  .strictObject({
    adapter: z.string(),
    url: address.optional(),
    key_env: z.string().min(1).optional(),
    key_file: z.string().min(1).optional(),
    requests_per_minute: z.int().min(1).max(REQUESTS_PER_MINUTE_MAX).optional(),
    from: day,
    to: day.optional(),
    /** Names of the chains or their tokens at the feed, by chain. */
    ids: z
      .record(z.string(), z.string().min(1).max(ID_CHARACTERS_MAX))
      .refine((ids) => Object.keys(ids).length > 0, 'names no chain')
      .refine((ids) => Object.keys(ids).length <= SERIES_MAX, `names more than ${SERIES_MAX} chains`),
  })
  .refine(
    ({ key_env, key_file }) => key_env === undefined || key_file === undefined,
    'has key_env and key_file: give one of them',
  )
  .refine(({ from, to }) => to === undefined || from <= to, { path: ['from'], error: 'is later than to' });

/** Feeds of one kind of value, in the order of their use. */
export const feedsShape = z.array(feed).min(1, 'names no feed').max(FEEDS_MAX);
export const FEED_KEYS = Object.keys(feed.shape);

interface PlanContext {
  readonly registry: Registry;
  /** Directory of the sources file. */
  readonly directory: string;
  readonly env: Environment;
  readonly inPlace: AtPath;
}

export function valuePlansOf(
  kind: ValueKind,
  feeds: z.output<typeof feedsShape>,
  { registry, directory, env, inPlace }: PlanContext,
): ValuePlan[] {
  return feeds.map((input, i) => {
    const adapter = inPlace([i, 'adapter'], () => requireAdapter(kind, input.adapter));
    const { url, requests_per_minute: perMinute = adapter.requestsPerMinute, from, to, ids } = input;
    return {
      kind,
      adapter,
      url,
      key: keyOf(input, { directory, env, inPlace: (place, read) => inPlace([i, ...place], read) }),
      requestsPerMinute: perMinute,
      from: Date.parse(from),
      to: to === undefined ? undefined : Date.parse(to),
      series: Object.entries(ids).map(([name, id]) =>
        inPlace([i, 'ids', name], () => ({ id, ...seriesOf(kind, findChain(registry, name)) })),
      ),
    };
  });
}

function requireAdapter(kind: ValueKind, name: string) {
  const adapter = adapterOf(name);
  if (adapter?.routes[kind]) return adapter;
  const names = adaptersOf(kind);
  const near = didYouMean(name, names);
  throw new Error(`${name} is not a feed of ${kind}; use ${names.join(' or ')}${near && `: ${near}`}`);
}

/** Prices are stored under the relay chain, or under the chain itself if it is solo. Their symbol is the token. */
function seriesOf(kind: ValueKind, { relay_chain, name, token }: Chain): Omit<ValueSeries, 'id'> {
  if (kind === 'tvl') return { relay_chain, chain: name, symbol: '' };
  return { relay_chain, chain: relay_chain === 'solo' ? name : relay_chain, symbol: token };
}

function keyOf(
  { key_env, key_file }: { key_env?: string | undefined; key_file?: string | undefined },
  { directory, env, inPlace }: Pick<PlanContext, 'directory' | 'env' | 'inPlace'>,
): string | undefined {
  if (key_env === undefined && key_file === undefined) return undefined;
  const place = key_env === undefined ? 'key_file' : 'key_env';
  return inPlace([place], () => {
    const key = (
      key_file === undefined ? env[key_env as string] : readFileSync(resolve(directory, key_file), 'utf8')
    )?.trim();
    if (key === undefined || key === '') throw new Error('is empty or not set');
    if (key.length > KEY_CHARACTERS_MAX || !/^[\x21-\x7e]+$/.test(key))
      throw new Error(`is not a key: expected at most ${KEY_CHARACTERS_MAX} visible ASCII characters`);
    return key;
  });
}
