import type { SeriesData } from './chart-state.ts';

/** `asset-hub-polkadot` as visitors read it. */
const titled = (name: string): string =>
  name.replaceAll(/[-_]+/g, ' ').replaceAll(/(^| )[a-z]/g, (letter) => letter.toUpperCase());

export const relayName = (relay: string): string => (relay === 'solo' ? 'Solo chains' : titled(relay));

/** The name of a chain by `RELAY/CHAIN`. */
export function chainName(id: string): string {
  const [relay = '', chain = ''] = id.split('/');
  return chain === 'ecosystem' ? `All of ${relayName(relay)}` : titled(chain);
}

/** What tells the series of one chart apart: their chains, and what they show where that differs. */
export function seriesNames(series: readonly SeriesData[]): string[] {
  const isOne = new Set(series.map(({ title }) => title)).size <= 1;
  return series.map(({ title, relay_chain, chain }) => {
    const name = chainName(`${relay_chain}/${chain}`);
    return isOne ? name : `${title}, ${name}`;
  });
}
