import { ECOSYSTEM } from '../../../ingest/chains/ecosystem.ts';
import type { SeriesData } from '../model/chart-state.ts';
import { fullTitle, type Line } from './drawn.ts';

/** `asset-hub-polkadot` as visitors read it. */
const titled = (name: string): string =>
  name.replaceAll(/[-_]+/g, ' ').replaceAll(/(^| )[a-z]/g, (letter) => letter.toUpperCase());

export const relayName = (relay: string): string => (relay === 'solo' ? 'Solo chains' : titled(relay));

/** The name of a chain by `RELAY/CHAIN`. */
export function chainName(id: string): string {
  const [relay = '', chain = ''] = id.split('/');
  return chain === ECOSYSTEM ? `All of ${relayName(relay)}` : titled(chain);
}

/** The parts of a series as visitors read them, without characters that are not seen. */
export const partName = (parts: readonly string[]): string =>
  parts
    .join(' ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .slice(0, PART_CHARS_MAX);

const PART_CHARS_MAX = 60;

/** What a line is of: a chain, or a part of one. */
export function lineName({ relay_chain, chain, parts }: LineOf): string {
  const name = chainName(`${relay_chain}/${chain}`);
  return parts.length === 0 ? name : `${partName(parts)}, ${name}`;
}

type LineOf = Pick<SeriesData, 'relay_chain' | 'chain' | 'parts'>;

/**
 * What tells the series of one chart apart: their parts, their chains, and what they show where that differs, with the
 * metric where several have a column of that title.
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
