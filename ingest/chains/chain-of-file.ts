import { basename } from 'node:path';
import type { Chain } from './chain.ts';
import type { Registry } from './registry.ts';

/** The name of a file without directory and extensions. */
export function fileStem(file: string): string {
  return basename(file)
    .replace(/\.(gz|zst)$/, '')
    .replace(/\.(ndjson|jsonl|json|parquet)$/, '');
}

/**
 * The chain that a file is named after. Numbers or dates may follow the name, as in `polkadot-2024-01.ndjson.gz`. A single
 * number may be a para id: `polkadot-2004` is not Polkadot, since it may be Moonbeam.
 */
export function chainOfFile(registry: Pick<Registry, 'find' | 'chains'>, file: string): Chain | undefined {
  const name = fileStem(file);
  const whole = registry.find(name);
  if (whole) return whole;
  for (const { index } of [...name.matchAll(/[-_.](?=\d)/g)].reverse()) {
    const [chain, rest] = [registry.find(name.slice(0, index)), name.slice(index + 1)];
    if (chain) return ONLY_NUMBERS.test(rest) && !isParachain(registry, chain, rest) ? chain : undefined;
  }
  return undefined;
}

/** Matches numbers, dates, times, and counts such as `part 1 of 3`. */
const ONLY_NUMBERS = /^(?:[-_.:TZ\d]|of|to|part)+$/i;

const isParachain = ({ chains }: Pick<Registry, 'chains'>, relay: Chain, text: string) =>
  chains.some(({ relay_chain, para_id }) => relay_chain === relay.name && String(para_id) === text);
