import { ECOSYSTEM } from '../../../ingest/chains/ecosystem.ts';
import type { SeriesData } from '../model/chart-state.ts';
import { fullTitle, type Line } from './chart-metrics.ts';

/** `asset-hub-polkadot` becomes `Asset Hub Polkadot`. */
const titled = (name: string): string =>
  name.replaceAll(/[-_]+/g, ' ').replaceAll(/(^| )[a-z]/g, (letter) => letter.toUpperCase());

export const relayName = (relay: string): string => (relay === 'solo' ? 'Solo chains' : titled(relay));

/** The display name of a chain, by `RELAY/CHAIN`. */
export function chainName(id: string): string {
  const [relay = '', chain = ''] = id.split('/');
  return chain === ECOSYSTEM ? `All of ${relayName(relay)}` : titled(chain);
}

/** The display name of parts, without invisible characters. */
export const partName = (parts: readonly string[]): string =>
  parts
    .join(' ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .slice(0, PART_CHARS_MAX);

const PART_CHARS_MAX = 60;

/** The display name of a line: its chain, or its part and chain. */
export function lineName({ relay_chain, chain, parts }: LineOf): string {
  const name = chainName(`${relay_chain}/${chain}`);
  return parts.length === 0 ? name : `${partName(parts)}, ${name}`;
}

type LineOf = Pick<SeriesData, 'relay_chain' | 'chain' | 'parts'>;

/**
 * Distinct names of the series of a chart: part and chain; plus the column if there are several; plus the metric if
 * several metrics have a column with the same title.
 */
export function seriesNames(lines: readonly Line[]): string[] {
  const columns = [...new Set(lines.map(({ column }) => column))];
  const titles = columns.map(({ shown }) => shown.title);
  return lines.map((line) => {
    const { title } = line.column.shown;
    const isShared = titles.indexOf(title) !== titles.lastIndexOf(title);
    return columns.length === 1 ? lineName(line) : `${isShared ? fullTitle(line) : title}, ${lineName(line)}`;
  });
}
