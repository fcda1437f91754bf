import type { FastifyInstance } from 'fastify';
import { metrics } from '../../../aggregate/metrics/index.ts';
import type { PendingReason } from '../../../aggregate/runner/pending.ts';
import type { ChainCoverage, ChainStatus, SystemStatus } from '../../../aggregate/status/status.ts';
import { memoizeFor } from '../../../infra/coordination/memoize-for.ts';
import { formatUnreadCalls } from '../../../ingest/raw/unknown-wrappers.ts';
import { type Html, html } from '../../pages/html.ts';
import { wideTable } from '../../pages/wide-table.ts';
import { type CoveredDays, coverage } from '../charts/coverage.ts';
import { moment } from '../lists/cells.ts';
import { plainText } from '../lists/plain-text.ts';
import { formatExact, formatShort } from '../model/format.ts';
import { chainName, relayName } from '../series/names.ts';
import type { ConsolePages } from './console-pages.ts';

interface StatusSources extends Pick<ConsolePages, 'accounts' | 'freshness' | 'series'> {
  readonly status: () => Promise<SystemStatus>;
  readonly coverage: () => Promise<readonly ChainCoverage[]>;
}

const WHY: Readonly<Record<PendingReason, string>> = {
  loaded: 'waits for the next computation',
  never_computed: 'was never computed',
  recipe_changed: 'its definition has changed',
  failed: 'its computation failed',
};

/** How long the status is cached, because it is the slowest page. */
const AGE_MS_MAX = 2000;

/** Serves the status page: the stored heights of each chain, the computed days of each metric, and failures. */
export function serveStatus(
  pages: FastifyInstance,
  { freshness, series, status, coverage: readCoverage }: StatusSources,
): void {
  const read = memoizeFor(AGE_MS_MAX, async () => {
    const [now, gaps] = await Promise.all([status(), readCoverage(), freshness.refresh()]);
    return { now, gaps, strips: stripsOf(gaps, freshness.chains, series.today) };
  });
  pages.get('/status', async (request, reply) => {
    const [content, signedIn] = await Promise.all([read(), request.signedIn()]);
    return reply.page({
      title: 'Status',
      description: 'Heights, lag and gaps of every chain; pending and failed computations; dead letters.',
      body: statusBody(content, signedIn?.user.is_operator === true),
      layout: 'wide',
      isPublic: true,
    });
  });
}

type ChainGaps = Pick<
  ChainCoverage,
  'relay_chain' | 'chain' | 'missing_blocks' | 'missing_days' | 'days_without_price'
>;

export interface StatusContent {
  readonly now: SystemStatus;
  readonly gaps: readonly ChainGaps[];
  /** Cached with the status, because drawing is slow. */
  readonly strips: Html | false;
}

/** The status page. Only operators see why computations fail. */
export function statusBody({ now, gaps, strips }: StatusContent, isOperator: boolean): Html {
  return html`<h1>Status</h1>
<p class="lead">How far each chain is stored, what is missing, and what is still being computed. The same as data: <a href="/api/status">status</a>, <a href="/api/coverage">coverage</a>.</p>
${summary(now)}
${figures(now)}
<h2>Chains</h2>
${chains(now)}
<h2>What is missing</h2>
${strips}
${missing(gaps)}
<h2>Computations</h2>
${computations(now, isOperator)}
<h2>Refused input</h2>
${refused(now)}`;
}

function summary({ chains, computing, metrics }: SystemStatus): Html {
  const failing = metrics.filter(({ failures }) => failures.length > 0).length;
  if (failing > 0) {
    return html`<p class="note bad">${failing === 1 ? 'One metric cannot' : `${failing} metrics cannot`} be computed. Their rows are from the last successful computation.</p>`;
  }
  if (chains.length === 0) {
    return html`<p class="note warn">No chain is stored yet. An operator loads blocks with <code>chain-metrics ingest PATH</code>, or lets the server follow a chain.</p>`;
  }
  const waiting = computing.touched_days_waiting;
  if (computing.held)
    return html`<p class="note warn">A bulk load is under way; its days are computed when it ends.</p>`;
  if (waiting > 0) {
    return html`<p class="note warn">${count(waiting)} ${waiting === 1 ? 'day is' : 'days are'} being computed: ${count(computing.windows_done)} of ${count(computing.windows_total)} steps are done.</p>`;
  }
  return html`<p class="note good">All stored data are computed.</p>`;
}

function figures({ chains, computing, dead_letters }: SystemStatus): Html {
  const sum = (countOf: (chain: SystemStatus['chains'][number]) => number) =>
    chains.reduce((total, chain) => total + countOf(chain), 0);
  const all: readonly (readonly [string, number])[] = [
    ['Chains', chains.length],
    ['Blocks', sum(({ blocks }) => blocks)],
    ['Missing blocks', sum(({ missing_blocks }) => missing_blocks.total)],
    ['Days to compute', computing.touched_days_waiting],
    ['Dead letters', dead_letters.total],
  ];
  return html`<ul class="figures">${all.map(
    ([name, value]) =>
      html`<li><span>${name}</span><strong title="${count(value)}">${formatShort(value, 'count')}</strong></li>`,
  )}</ul>`;
}

function chains({ chains }: SystemStatus): Html {
  return tableOf(
    'Chains',
    [
      'Chain',
      'Relay chain',
      '#Newest block',
      'Its time (UTC)',
      '#Lag',
      '#Blocks',
      '#Missing',
      '#Not served',
      '#Without a time',
    ],
    chains.map((chain) => [
      linkTo(chain),
      relayName(chain.relay_chain),
      formatExact(chain.highest_block, 'height'),
      chain.newest_block_at === null ? '–' : moment(chain.newest_block_at),
      html`<span title="${formatExact(chain.lag_seconds, 'seconds')}">${formatShort(chain.lag_seconds, 'seconds')}</span>`,
      ...[chain.blocks, chain.missing_blocks.total, chain.skipped_heights, chain.untimed_blocks].map(count),
    ]),
    'No chain is stored yet.',
  );
}

/** Chains whose blocks have no timestamp have no strip. */
export function stripsOf(
  gaps: readonly ChainGaps[],
  stored: readonly Omit<CoveredDays, 'unpriced'>[],
  today: string,
): Html | false {
  const drawn = gaps.flatMap(({ relay_chain, chain, days_without_price: unpriced }) => {
    const days = stored.find((one) => one.relay_chain === relay_chain && one.chain === chain);
    return days === undefined ? [] : [{ ...days, unpriced }];
  });
  return drawn.length > 0 && html`<div class="card">${coverage(drawn, today)}</div>`;
}

const linkTo = ({ relay_chain, chain }: ChainGaps | ChainStatus): Html =>
  html`<a href="/chains/${chain}">${chainName(`${relay_chain}/${chain}`)}</a>`;

const RANGES_MAX = 5;

function missing(gaps: readonly ChainGaps[]): Html {
  const rows = gaps.flatMap((chain) => {
    const { missing_blocks, missing_days, days_without_price } = chain;
    const all = [missing_blocks, missing_days, days_without_price];
    if (all.every(({ total }) => total === 0)) return [];
    return [[linkTo(chain), ranges(missing_blocks), ranges(missing_days), ranges(days_without_price)]];
  });
  const head = ['Chain', 'Blocks', 'Days', 'Days without a price'];
  if (rows.length === 0) {
    return html`<p class="empty">Nothing is missing between the first and the newest block of each chain.</p>`;
  }
  return html`<details class="numbers"><summary>Heights and days that are missing</summary>${tableOf('What is missing', head, rows, '')}</details>`;
}

function ranges(missing: {
  readonly total: number;
  readonly ranges_total: number;
  readonly ranges: readonly { readonly from: number | string; readonly to: number | string }[];
}): Html {
  if (missing.total === 0) return html`<span class="none">none</span>`;
  const text = (value: number | string) => (typeof value === 'number' ? formatExact(value, 'height') : value);
  const shown = missing.ranges
    .slice(0, RANGES_MAX)
    .map(({ from, to }) => (from === to ? text(from) : `${text(from)} – ${text(to)}`));
  const hidden = missing.ranges_total - shown.length;
  return html`<span class="ranges"><b>${count(missing.total)}</b>: ${shown.join(', ')}${hidden > 0 && `, and ${count(hidden)} more ranges`}</span>`;
}

function computations({ metrics: computed, computing }: SystemStatus, isOperator: boolean): Html {
  const titles = new Map(metrics.map(({ name, title }) => [name, title]));
  const rows = computed.map((one) => {
    const { metric, computed_at, pending_from, pending_reason, failures } = one;
    const waits =
      pending_from === null
        ? html`<span class="none">nothing</span>`
        : html`from ${pending_from}: ${WHY[pending_reason ?? 'loaded']}`;
    return [
      html`${titles.get(metric) ?? metric} <code class="none">${metric}</code>`,
      computed_at === null ? html`<span class="none">never</span>` : moment(computed_at),
      count(one.windows),
      waits,
      failures.length === 0
        ? html`<span class="tag good">Fine</span>`
        : html`<span class="tag bad">Fails</span> ${isOperator && plainText(failures.map(({ reason }) => reason).join('; '), REASON_CHARS_MAX)}`,
    ];
  });
  const failed = computing.failed.map(({ id, reason, attempts }) => [
    html`<code>${plainText(id)}</code>`,
    count(attempts),
    isOperator ? plainText(reason, REASON_CHARS_MAX) : 'The operator’s log says why',
  ]);
  return html`${tableOf('Computations', ['Metric', 'Last computed (UTC)', '#Steps', 'Waits', 'State'], rows, 'No metric is computed yet.')}
${failed.length > 0 && tableOf('Failed computations', ['Computation', '#Attempts', 'Reason'], failed, '')}`;
}

const REASON_CHARS_MAX = 1000;

function refused(status: SystemStatus): Html {
  const { chains, dead_letters, refused_facts, unknown_wrappers, outdated_snapshots, retention } = status;
  const rows = dead_letters.latest.map(({ received_at, file, line, reason }) => [
    moment(received_at),
    html`<bdi>${plainText(file)}</bdi>`,
    count(line),
    html`<bdi>${plainText(reason)}</bdi>`,
  ]);
  const inconsistent = chains.reduce((sum, { inconsistent_blocks }) => sum + inconsistent_blocks, 0);
  return html`<p>${count(dead_letters.total)} lines were set aside as dead letters, ${count(refused_facts)} facts within blocks could not be read, and ${count(outdated_snapshots)} snapshots were read by an earlier version. ${plainText(formatUnreadCalls(unknown_wrappers))}.${inconsistent > 0 && ` ${count(inconsistent)} blocks have extrinsics that end with no outcome event, or with several: whether these succeeded is unknown.`}${retention.blocks_from !== null && ` Blocks before ${retention.blocks_from} are refused: raw rows of these days are deleted, or about to be.`}</p>
${tableOf('The newest dead letters', ['Received (UTC)', 'File', '#Line', 'Reason'], rows, 'No line was refused.')}`;
}

/** A table; titles of numeric columns start with `#`. */
function tableOf(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly (Html | string)[])[],
  empty: string,
): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const look = (i: number) => head[i]?.startsWith('#') && html` class="number"`;
  return wideTable(
    caption,
    html`<table>
<thead><tr>${head.map((title, i) => html`<th scope="col"${look(i)}>${title.replace('#', '')}</th>`)}</tr></thead>
<tbody>${rows.map(
      (row) =>
        html`<tr>${row.map((cell, i) => (i === 0 ? html`<th scope="row">${cell}</th>` : html`<td${look(i)}>${cell}</td>`))}</tr>
`,
    )}</tbody></table>`,
    'records',
  );
}

const count = (value: number): string => formatExact(value, 'count');
