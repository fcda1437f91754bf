import { type Alert, SEVERITIES } from '../../../aggregate/alerts/model/alert.ts';
import { type Html, html } from '../../pages/html.ts';
import { wideTable } from '../../pages/wide-table.ts';
import type { AlertCounts } from '../projects/alert-reader.ts';
import { ago, severityTag, statusTag } from './frame.ts';
import {
  CHIP_NAMES,
  CHIPS,
  type ChipName,
  isFiltered,
  type ListQuery,
  STATUS_TABS,
  searchOf,
} from './list-query.ts';
import { pagination } from './pagination.ts';

export const PAGE_SIZE = 20;
/** Limits of the hosts and labels that are shown for one alert. */
const HOSTS_SHOWN = 3;
const LABELS_SHOWN = 4;

/** The alerts of a list, with their counts. */
export interface ListedAlerts {
  readonly rows: readonly Alert[];
  readonly counts: AlertCounts;
  /** Names of the assignees by id. */
  readonly names: ReadonlyMap<string, string>;
}

/**
 * The parts of the list that change with the alerts. They are the same for all members at the same URL, and the script of
 * the page replaces them.
 */
export function liveParts(
  project: string,
  query: ListQuery,
  { rows, counts, names }: ListedAlerts,
  now: number,
): { readonly tabs: Html; readonly severities: Html; readonly table: Html } {
  const urlTo = (changes: Readonly<Record<string, string>>) =>
    `/projects/${project}/alerts?${searchOf(query, changes)}`;
  const table = rows.length === 0 ? emptyList(project, query, counts) : tableOf(rows, names, urlTo, now);
  const total = counts.statuses[query.tab[0]];
  return {
    tabs: html`<nav class="tabs sub" aria-label="Status" data-part="tabs"><ul>${STATUS_TABS.map(
      ([name, label]) =>
        html`<li><a href="${urlTo({ status: name })}"${name === query.tab[0] && html` aria-current="page"`}>${label} <span class="count">${counts.statuses[name]}</span></a></li>`,
    )}</ul></nav>`,
    severities: severityCounts(query, counts, urlTo),
    table: html`<div data-part="alerts">${table}
${pagination({ page: query.page, size: PAGE_SIZE, total, noun: 'alerts' }, (page) => urlTo({ page: String(page) }))}</div>`,
  };
}

type UrlTo = (changes: Readonly<Record<string, string>>) => string;

/** Counts by severity. A count is a link that sets the filter, or removes it if it is set. */
function severityCounts({ filters }: ListQuery, { severities }: AlertCounts, urlTo: UrlTo): Html {
  return html`<nav class="severities" aria-label="Severity" data-part="severities"><ul>${SEVERITIES.map(
    (severity) => {
      const isSet = filters.severity === severity;
      return html`<li><a class="severity ${severity}" href="${urlTo({ severity: isSet ? '' : severity })}"${isSet && html` aria-current="true"`}>${severity} <span class="count">${severities[severity]}</span></a></li>`;
    },
  )}</ul></nav>`;
}

function tableOf(rows: readonly Alert[], names: ListedAlerts['names'], urlTo: UrlTo, now: number): Html {
  return wideTable(
    'Alerts',
    html`<table class="alerts">
<thead><tr><th scope="col"><span class="unseen">Selected</span></th><th scope="col" class="wide-only">Severity</th><th scope="col">Alert</th><th scope="col" class="wide-only">Status</th><th scope="col" class="number wide-only">Events</th><th scope="col" class="wide-only">Started</th><th scope="col" class="wide-only">Last seen</th><th scope="col" class="wide-only">Assignee</th></tr></thead>
<tbody>${rows.map(
      (
        alert,
      ) => html`<tr data-iid="${alert.iid}"><td class="check"><input type="checkbox" name="iid" value="${alert.iid}" form="bulk" aria-label="Select alert ${alert.iid}"></td><td class="wide-only">${severityTag(alert)}</td>
<th scope="row"><a href="/projects/${alert.project}/alerts/${alert.iid}">${alert.title}</a>
<span class="under">#${alert.iid} <span class="only-small">${severityTag(alert)} ${alert.status}, seen ${ago(alert.seen_ms, now)}<br></span> ${chipsOf(alert, urlTo)}</span></th>
<td class="wide-only">${statusTag(alert)}</td><td class="number wide-only">${alert.events}</td><td class="wide-only">${ago(alert.started_ms, now)}</td>
<td class="wide-only">${ago(alert.seen_ms, now)}</td><td class="wide-only">${alert.assignees.map((id) => names.get(id) ?? '').join(' ') || '–'}</td></tr>`,
    )}</tbody></table>`,
  );
}

/** Links to the alerts that share a property with this one. */
function chipsOf({ service, tool, environment, hosts, labels }: Alert, urlTo: UrlTo): Html[] {
  const values: Readonly<Record<ChipName, readonly string[]>> = {
    service: [service],
    tool: [tool],
    environment: [environment],
    host: hosts.slice(0, HOSTS_SHOWN),
    label: labels.slice(0, LABELS_SHOWN),
  };
  const more = Math.max(0, hosts.length - HOSTS_SHOWN) + Math.max(0, labels.length - LABELS_SHOWN);
  return [
    ...CHIP_NAMES.flatMap((name) =>
      values[name]
        .filter((value) => value !== '')
        .map(
          (value) =>
            html`<a class="chip" href="${urlTo({ [name]: value })}" title="Only alerts with ${CHIPS[name].toLowerCase()} ${value}">${value}</a> `,
        ),
    ),
    ...(more > 0 ? [html`<span>and ${more} more</span>`] : []),
  ];
}

function emptyList(project: string, query: ListQuery, { statuses }: AlertCounts): Html {
  if (statuses.all > 0 || isFiltered(query))
    return html`<p class="empty">No alerts match. Try another status or search.</p>`;
  return html`<p class="empty">No alerts yet. They arrive through <a href="/projects/${project}/integrations">an integration</a>, which also sends test alerts.</p>`;
}
