import { z } from 'zod';
import { type Column, clickhouseType, displayOf } from '../../../aggregate/columns.ts';
import type { Metric } from '../../../aggregate/metric.ts';
import type { Registry } from '../../../ingest/chains/registry.ts';
import { type Html, html } from '../../pages/html.ts';
import { formatExact, formatShort, NO_VALUE } from '../model/format.ts';
import { chainName, relayName } from '../series/names.ts';
import type { ColumnView, ListRow } from './list-page.ts';
import { plainText } from './plain-text.ts';

/** Input of a cell. */
interface CellOf {
  readonly metric: Metric;
  readonly view: ColumnView;
  readonly row: ListRow;
  readonly registry: Registry;
  /** Whether numbers show all digits, as on detail pages. */
  readonly isExact?: boolean;
}

/** States that have a colour. */
const GOOD = new Set(['Approved', 'Claimed', 'Active', 'assigned', 'aye', 'owned']);
const BAD = new Set(['Rejected', 'Killed', 'nay', 'dropped']);
const OPEN = new Set(['Ongoing', 'PendingPayout', 'CuratorProposed', 'Proposed']);

/** The title of a column. */
export function columnTitle(metric: Metric, { column, title }: ColumnView): string {
  const declared = metric.columns[column] as Column;
  const name = title ?? displayOf(declared).title;
  return clickhouseType(declared).includes('DateTime64') ? `${name} (UTC)` : name;
}

/** Whether a column is right-aligned. */
export function isNumeric(metric: Metric, { column }: ColumnView): boolean {
  const { unit } = displayOf(metric.columns[column] as Column);
  return unit !== null && unit !== 'identifier';
}

/** Formats a value. If it is rounded or shortened, its `title` has the exact value. */
export function cell(input: CellOf): Html {
  const { view, row } = input;
  const shown = shownValue(input);
  const link = view.to?.(row) ?? null;
  return link === null ? shown : html`<a href="${link}">${shown}</a>`;
}

function shownValue({ metric, view, row, registry, isExact = false }: CellOf): Html {
  const { column, as } = view;
  const value = row[column];
  if (value === null || value === undefined) return html`<span class="none">${NO_VALUE}</span>`;
  const declared = metric.columns[column] as Column;
  const type = clickhouseType(declared);
  if (type.includes('DateTime64')) return moment(String(value));
  if (type.includes('Date')) return html`<time datetime="${String(value)}">${String(value)}</time>`;
  if (typeof value === 'boolean') {
    const word = value ? 'Yes' : 'No';
    return as === 'state' ? html`<span class="tag ${value ? 'good' : 'bad'}">${word}</span>` : html`${word}`;
  }
  if (typeof value === 'object') return html`${plainText(JSON.stringify(value))}`;
  const { unit } = displayOf(declared);
  if (unit !== null) {
    const token = tokenOf(row, registry);
    const short = formatShort(value as number | string, unit, token);
    const exact = exactAmount({ metric, view, row, registry }) ?? formatExact(value as number, unit, token);
    return isExact
      ? html`${exact}`
      : short === exact
        ? html`${short}`
        : html`<span title="${exact}">${short}</span>`;
  }
  const text = String(value);
  if (column === 'relay_chain') return html`${relayName(text)}`;
  const chain = column === 'chain' ? nameOfKnown(text, registry) : null;
  if (chain !== null) return html`${chain}`;
  if (as === 'account' || as === 'hash') return shortened(text);
  if (as === 'state') return state(text);
  // Enumerated values need no `<bdi>`.
  if (declared instanceof z.ZodEnum) return html`${text}`;
  const plain = plainText(text);
  // CSS cuts text that is wider than its cell.
  return html`<bdi${plain.length > WIDE_CHARS && html` title="${plain}"`}>${plain}</bdi>`;
}

/** The exact amount of a native token column, from its planck column; null if there is none. */
function exactAmount({ metric, view, row, registry }: CellOf): string | null {
  const planck = row[`${view.column}_planck`];
  if (!(`${view.column}_planck` in metric.columns) || typeof planck !== 'string') return null;
  const chain = registry.find(String(row.chain));
  if (chain === undefined) return null;
  const digits = planck.padStart(chain.decimals + 1, '0');
  const at = digits.length - chain.decimals;
  return formatExact(`${digits.slice(0, at)}.${digits.slice(at) || '0'}`, 'native', chain.token);
}

/** The display name of a registered chain; any other name unchanged. */
export const nameOfChain = (name: string, registry: Registry): string => nameOfKnown(name, registry) ?? name;

function nameOfKnown(name: string, registry: Registry): string | null {
  const known = registry.find(name);
  return known?.name === name ? chainName(`${known.relay_chain}/${name}`) : null;
}

const tokenOf = (row: ListRow, registry: Registry): string | null =>
  registry.find(String(row.chain))?.token ?? null;

/** A time to the minute; its `title` has the full time. */
export function moment(iso: string): Html {
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 16).replace('T', ' ')}</time>`;
}

/** An address or hash. CSS hides its middle, so copying and screen readers get all of it. */
function shortened(text: string): Html {
  const plain = plainText(text);
  if (plain.length <= KEPT_START + KEPT_END) return html`<code>${plain}</code>`;
  const [from, to] = [KEPT_START, plain.length - KEPT_END];
  return html`<code class="mid" title="${plain}">${plain.slice(0, from)}<span>${plain.slice(from, to)}</span>${plain.slice(to)}</code>`;
}

const WIDE_CHARS = 40;
const KEPT_START = 8;
const KEPT_END = 6;

/** A state as a chip, in words: `PendingPayout` is "Pending payout". */
export function state(name: string): Html {
  const look = GOOD.has(name) ? ' good' : BAD.has(name) ? ' bad' : OPEN.has(name) ? ' warn' : '';
  return html`<span class="tag${look}">${plainText(inWords(name))}</span>`;
}

/** `bulk_purchases` and `BulkPurchases` are "Bulk purchases". */
export function inWords(name: string): string {
  const words = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').replaceAll('_', ' ');
  const [first = '', ...rest] = words.split(' ');
  return [first.charAt(0).toUpperCase() + first.slice(1), ...rest.map(lowered)].join(' ');
}

/** Leaves words in capitals unchanged. */
const lowered = (word: string) => (word === word.toUpperCase() ? word : word.toLowerCase());
