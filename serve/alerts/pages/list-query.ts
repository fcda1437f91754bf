import { type AlertStatus, SEVERITIES } from '../../../aggregate/alerts/model/alert.ts';
import { Form } from '../../http/form.ts';
import type { AlertFilter, AlertOrder, StatusCounts } from '../projects/alert-reader.ts';
import { pageNumber } from './pagination.ts';

export const STATUS_TABS: readonly (readonly [
  name: keyof StatusCounts,
  label: string,
  statuses: readonly AlertStatus[],
])[] = [
  ['open', 'Open', ['triggered', 'acknowledged']],
  ['triggered', 'Triggered', ['triggered']],
  ['acknowledged', 'Acknowledged', ['acknowledged']],
  ['resolved', 'Resolved', ['resolved']],
  ['ignored', 'Ignored', ['ignored']],
  ['all', 'All', []],
];

type SortName = `${AlertOrder['sort']}-${'asc' | 'desc'}`;

export const SORT_LABELS: readonly (readonly [SortName, string])[] = [
  ['started_at-desc', 'Newest first'],
  ['started_at-asc', 'Oldest first'],
  ['last_seen_at-desc', 'Last seen'],
  ['event_count-desc', 'Most events'],
  ['severity-desc', 'Most severe'],
  ['status-desc', 'By status'],
];

/** Properties of an alert that the list shows as chips, by name of the URL parameter. */
export const CHIPS = {
  service: 'Service',
  tool: 'Tool',
  environment: 'Environment',
  host: 'Host',
  label: 'Label',
} as const;
export type ChipName = keyof typeof CHIPS;
export const CHIP_NAMES = Object.keys(CHIPS) as ChipName[];

const VALUE_CHARACTERS_MAX = 300;
/** Text parameters in the order of the URL. */
const TEXTS = ['search', 'severity', 'assignee', 'integration', ...CHIP_NAMES] as const;
type FilterName = (typeof TEXTS)[number];

/** The list of alerts in a URL. */
export interface ListQuery {
  readonly tab: (typeof STATUS_TABS)[number];
  readonly filters: Readonly<Record<FilterName, string>>;
  readonly sort: SortName;
  readonly page: number;
}

/** Reads the parameters of a URL. Unknown values are ignored. */
export function listQueryOf(search: string): ListQuery {
  const parameters = new Form(search);
  const text = (name: string) => parameters.text(name).slice(0, VALUE_CHARACTERS_MAX).toWellFormed();
  const filters = Object.fromEntries(TEXTS.map((name) => [name, text(name)])) as Record<FilterName, string>;
  return {
    tab: (STATUS_TABS.find(([name]) => name === text('status')) ?? STATUS_TABS[0]) as ListQuery['tab'],
    filters: { ...filters, severity: SEVERITIES.find((name) => name === filters.severity) ?? '' },
    sort: SORT_LABELS.find(([name]) => name === text('sort'))?.[0] ?? 'started_at-desc',
    page: pageNumber(text('page')),
  };
}

/** The parameters of the same list with changes. It starts at the first page unless the changes set another. */
export function searchOf(
  { tab: [status], filters, sort }: ListQuery,
  changes: Readonly<Record<string, string>> = {},
): string {
  const all = { status, ...filters, sort: sort === 'started_at-desc' ? '' : sort, ...changes };
  return new URLSearchParams(Object.entries(all).filter(([, value]) => value !== '')).toString();
}

export const filterOf = ({ filters }: ListQuery): AlertFilter => ({
  severity: SEVERITIES.filter((name) => name === filters.severity),
  search: filters.search,
  assignee: filters.assignee || undefined,
  integration: filters.integration || undefined,
  service: filters.service || undefined,
  monitoring_tool: filters.tool || undefined,
  environment: filters.environment || undefined,
  host: filters.host || undefined,
  label: filters.label || undefined,
});

export function orderOf({ sort }: ListQuery): AlertOrder {
  const [column, direction] = sort.split('-') as [AlertOrder['sort'], string];
  return { sort: column, descending: direction === 'desc' };
}

export const isFiltered = ({ filters }: ListQuery): boolean =>
  Object.values(filters).some((value) => value !== '');
