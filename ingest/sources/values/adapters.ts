import type { ValueAdapter, ValueKind } from './adapter.ts';
import { coingecko } from './coingecko.ts';
import { defillama } from './defillama.ts';

const ADAPTERS: readonly ValueAdapter[] = [coingecko, defillama];

/** Names of the feeds that serve a kind of value. */
export const adaptersOf = (kind: ValueKind): string[] =>
  ADAPTERS.filter(({ routes }) => routes[kind] !== undefined).map(({ name }) => name);

export const adapterOf = (name: string): ValueAdapter | undefined =>
  ADAPTERS.find((adapter) => adapter.name === name);
