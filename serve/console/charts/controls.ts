import { type Html, html } from '../../pages/html.ts';
import {
  type ChartState,
  type ChartStyle,
  type Period,
  RANGES,
  type Range,
  SERIES_MAX,
} from '../model/chart-state.ts';
import { chainName, partName, relayName } from '../series/names.ts';
import type { Days } from '../series/series.ts';
import type { ChainId } from './selection.ts';

const RANGE_NAMES: Readonly<Record<Range, string>> = {
  '30d': '30 days',
  '90d': '90 days',
  '180d': '6 months',
  '365d': '1 year',
  all: 'All',
};
const PERIOD_NAMES: Readonly<Record<Period, string>> = { day: 'Day', week: 'Week', month: 'Month' };
const STYLE_NAMES: Readonly<Record<ChartStyle, string>> = {
  lines: 'Lines',
  stacked: 'Stacked',
  share: '100 %',
};

/** The options of the chart controls. */
interface Offered {
  readonly action: string;
  readonly state: ChartState;
  readonly days: Days;
  /** Whether the metric is daily; monthly metrics have no choice of periods. */
  readonly isDaily: boolean;
  /** Whether the lines have a sum, and so can be stacked or drawn as shares. */
  readonly canStack: boolean;
  /** Whether the column has a counterpart in USD. */
  readonly hasUsd: boolean;
  /** Additional fields, placed first. */
  readonly first: Html;
}

/** The form above a chart. It contains the whole chart state and works without JavaScript. */
export function controls({ action, state, days, isDaily, canStack, hasUsd, first }: Offered): Html {
  const { range, per, style, money } = state;
  const isOwn = typeof range === 'object';
  return html`<form class="controls" data-controls method="get" action="${action}">
${first}
<fieldset class="segments"><legend>Range</legend>${RANGES.map((one) => radio('range', one, RANGE_NAMES[one], !isOwn && range === one))}</fieldset>
<details class="menu dates"${isOwn && html` open`}><summary>${isOwn ? `${days.from} to ${days.until}` : 'Own dates'}</summary>
<div class="menu-body"><label>From <input type="date" name="from" value="${isOwn ? days.from : ''}"></label>
<label>Until <input type="date" name="until" value="${isOwn ? days.until : ''}"></label></div></details>
${isDaily && html`<fieldset class="segments"><legend>Per</legend>${(['day', 'week', 'month'] as const).map((one) => radio('per', one, PERIOD_NAMES[one], per === one))}</fieldset>`}
${canStack && html`<fieldset class="segments"><legend>Style</legend>${(['lines', 'stacked', 'share'] as const).map((one) => radio('style', one, STYLE_NAMES[one], style === one))}</fieldset>`}
${hasUsd && html`<fieldset class="segments"><legend>Money</legend>${radio('money', 'native', 'Native', money === 'native')}${radio('money', 'usd', 'USD', money === 'usd')}</fieldset>`}
<fieldset class="toggles"><legend>Show as</legend>${toggle('indexed', '1', 'Indexed to 100', state.isIndexed)}${isDaily && toggle('mean', '7', '7-day mean', state.isSmoothed)}${toggle('log', '1', 'Logarithmic', state.isLogarithmic)}</fieldset>
<button class="small" data-submit>Show</button>
</form>`;
}

/** The menu of chains, by relay chain. */
export function chainPicker(chains: readonly ChainId[], chosen: readonly string[]): Html {
  const groups = Map.groupBy(chains, (id) => id.split('/')[0] ?? '');
  return picker(
    'Chains',
    chosen.length,
    chains.length,
    [...groups].map(
      ([relay, ids]) =>
        html`<fieldset><legend>${relayName(relay)}</legend>${ids.map((id) => choiceOf('chain', id, chainName(id), chosen))}</fieldset>`,
    ),
  );
}

/** The menu of parts, for metrics with several lines per chain. */
export const partPicker = (title: string, parts: readonly string[], chosen: readonly string[]): Html =>
  picker(
    title,
    chosen.length,
    parts.length,
    html`<fieldset>${parts.map((part) => choiceOf('part', part, partName(part.split('/')), chosen))}</fieldset>`,
  );

const picker = (title: string, chosen: number, all: number, choices: Html | readonly Html[]): Html =>
  html`<details class="menu" data-picker><summary>${title} <b>${chosen}</b></summary><div class="menu-body">
<p class="hint">Up to ${SERIES_MAX} lines; there are ${all}.</p>
<label data-filter hidden>Search <input type="search" autocomplete="off"></label>
${choices}</div></details>`;

const choiceOf = (name: string, value: string, label: string, chosen: readonly string[]): Html =>
  html`<label class="choice"><input type="checkbox" name="${name}" value="${value}"${chosen.includes(value) && html` checked`}>${label}</label>`;

/** A labelled `<select>`. */
export function choice(
  name: string,
  label: string,
  options: readonly { readonly value: string; readonly label: string }[],
  chosen: string,
): Html {
  return html`<label class="select">${label} <select name="${name}">${options.map(
    (one) =>
      html`<option value="${one.value}"${one.value === chosen && html` selected`}>${one.label}</option>`,
  )}</select></label>`;
}

function radio(name: string, value: string, label: string, isChosen: boolean): Html {
  return html`<label><input type="radio" name="${name}" value="${value}"${isChosen && html` checked`}><span>${label}</span></label>`;
}

function toggle(name: string, value: string, label: string, isOn: boolean): Html {
  return html`<label><input type="checkbox" name="${name}" value="${value}"${isOn && html` checked`}><span>${label}</span></label>`;
}
