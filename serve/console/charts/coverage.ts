/** SVG strips that show the stored days of each chain on a common time axis. They need no JavaScript. */
import type { ChainCoverage } from '../../../aggregate/status/status.ts';
import { DAY_MS, isoDay } from '../../../infra/days.ts';
import type { ChainFacts } from '../../metrics/freshness.ts';
import { type Html, html } from '../../pages/html.ts';
import { periodName } from '../model/drawing.ts';
import { formatExact } from '../model/format.ts';
import { chainName } from '../series/names.ts';

export interface CoveredDays extends Pick<ChainFacts, 'relay_chain' | 'chain' | 'days' | 'gaps'> {
  readonly unpriced: ChainCoverage['days_without_price'];
}

type Range = readonly [from: string, to: string];

/** `part`: a day at the end of a gap, which may lack blocks. `none`: a day without blocks. */
type DayState = 'blank' | 'whole' | 'part' | 'none';
type PriceState = 'blank' | 'unpriced';

/** Adjacent cells of the same state. */
interface Run<State> {
  readonly state: State;
  /** First cell, and the one after the last. */
  readonly cells: readonly [number, number];
  readonly days: Range;
}

/** The time axis. A cell covers several days if there are more days than cells. */
interface Axis {
  readonly from: number;
  readonly days: number;
  readonly cells: number;
}

interface States {
  readonly chain: CoveredDays;
  readonly label: string;
  readonly days: readonly DayState[];
  readonly prices: readonly PriceState[];
}

interface Strip {
  readonly chain: CoveredDays;
  readonly label: string;
  readonly days: readonly Run<DayState>[];
  readonly prices: readonly Run<PriceState>[];
}

const CELLS_MAX = 600;
/** If all strips together have more runs, cells cover more days. */
const RUNS_MAX = 12_000;
/** Number of date labels below the strips. */
const DATES = 4;
const HEIGHT = 24;
const BAR = { y: 4, height: 14 };
const FOOT = { y: 19, height: 3 };
const HATCH = 7;

export function coverage(chains: readonly CoveredDays[], today: string, isNamed = true): Html {
  const [axis, strips] = stripsOf(chains, today);
  return html`<figure class="coverage"><ul class="strips">${strips.map(
    (strip) => html`<li>${isNamed && html`<a href="/chains/${strip.chain.chain}">${nameOf(strip.chain)}</a>`}
${stripSvg(strip, axis)}</li>
`,
  )}</ul>
<ul class="strip-dates${isNamed && ' named'}">${datesOf(axis).map((date) => html`<li>${date}</li>`)}</ul>
${keyOf(strips)}</figure>`;
}

/** Evenly spaced date labels of the axis. */
function datesOf({ from, days }: Axis): readonly string[] {
  const parts = Math.min(DATES, days);
  return Array.from({ length: parts }, (_, i) =>
    periodName(from + Math.round((i * days) / parts) * DAY_MS, 'day'),
  );
}

const nameOf = ({ relay_chain, chain }: CoveredDays): string => chainName(`${relay_chain}/${chain}`);

/** The place of a gap in words. */
export const gapText = ([from, to]: Range): string =>
  from === to ? `on ${from}` : `between ${from} and ${to}`;

function stripsOf(chains: readonly CoveredDays[], today: string): [Axis, readonly Strip[]] {
  const from = Math.min(Date.parse(today), ...chains.map(({ days: [first] }) => Date.parse(first)));
  const days = (Date.parse(today) - from) / DAY_MS + 1;
  const states = chains.map((chain) => statesOf(chain, from, days));
  for (let cells = Math.min(days, CELLS_MAX); ; cells = Math.ceil(cells / 2)) {
    const axis = { from, days, cells };
    const strips = states.map((one) => stripOf(one, axis));
    const runs = strips.reduce((sum, strip) => sum + strip.days.length + strip.prices.length, 0);
    if (runs <= RUNS_MAX || cells === 1) return [axis, strips];
  }
}

function stripOf({ chain, label, days, prices }: States, axis: Axis): Strip {
  return {
    chain,
    label,
    days: runsOf(days, axis, (one, other) => (one === other ? one : 'part')),
    prices: runsOf(prices, axis, (one) => one),
  };
}

/** The states of each day of the axis. */
function statesOf(chain: CoveredDays, start: number, count: number): States {
  const days = dayStates(chain, start, count);
  const prices = new Array<PriceState>(count).fill('blank');
  for (const { from, to } of chain.unpriced.ranges)
    fill(prices, 'unpriced', placeOf(from, start), placeOf(to, start));
  return { chain, label: labelOf(chain, days), days, prices };
}

/** The state of each day. Today is blank without a block, unless yesterday has none either. */
function dayStates({ days: [first, last], gaps }: CoveredDays, start: number, count: number): DayState[] {
  const states = new Array<DayState>(count).fill('blank');
  const end = placeOf(last, start);
  fill(states, 'whole', placeOf(first, start), end);
  if (end < count - 2) fill(states, 'none', end + 1, count - 1);
  const places = gaps.map(([from, to]) => [placeOf(from, start), placeOf(to, start)] as const);
  for (const [from, to] of places) fill(states, 'none', from + 1, to - 1);
  for (const place of places.flat()) fill(states, 'part', place, place);
  return states;
}

const placeOf = (day: string, start: number): number => Math.round((Date.parse(day) - start) / DAY_MS);

/** Ignores days outside of the axis, such as those of a chain whose clock is ahead. */
const fill = <State>(states: State[], state: State, from: number, to: number): void => {
  states.fill(state, Math.max(0, from), Math.max(0, to + 1));
};

/** Combines days into cells and cells into runs. `together` combines two states that are not blank. */
function runsOf<State extends DayState | PriceState>(
  states: readonly State[],
  { from, days, cells }: Axis,
  together: (one: State, other: State) => State,
): Run<State>[] {
  const dayAt = (cell: number) => Math.floor((cell * days) / cells);
  const nameAt = (day: number) => isoDay(from + day * DAY_MS);
  const runs: { readonly state: State; readonly first: number; end: number }[] = [];
  for (let cell = 0; cell < cells; cell++) {
    let state = states[dayAt(cell)] as State;
    for (let day = dayAt(cell) + 1; day < dayAt(cell + 1); day++) {
      const next = states[day] as State;
      if (state === 'blank') state = next;
      else if (next !== 'blank') state = together(state, next);
    }
    const open = runs.at(-1);
    if (open?.state === state) open.end = cell + 1;
    else runs.push({ state, first: cell, end: cell + 1 });
  }
  return runs
    .filter(({ state }) => state !== 'blank')
    .map(({ state, first, end }) => ({
      state,
      cells: [first, end],
      days: [nameAt(dayAt(first)), nameAt(dayAt(end) - 1)],
    }));
}

function labelOf(chain: CoveredDays, states: readonly DayState[]): string {
  const all = states.filter((state) => state !== 'blank').length;
  const stored = all - states.filter((state) => state === 'none').length;
  const places = chain.gaps.length;
  return [
    `${nameOf(chain)}: blocks of ${stored === all ? 'all' : `${count(stored)} of`} ${count(all)} days since ${chain.days[0]}`,
    ...(places > 0 ? [`missing in ${count(places)} ${places === 1 ? 'place' : 'places'}`] : []),
    ...(states.at(-1) === 'none' ? [`none after ${chain.days[1]}`] : []),
    ...(chain.unpriced.total > 0
      ? [`no price on ${count(chain.unpriced.total)} ${chain.unpriced.total === 1 ? 'day' : 'days'}`]
      : []),
  ].join(', ');
}

function stripSvg({ chain, label, days, prices }: Strip, { cells }: Axis): Html {
  const rect = (run: Run<string>, { y, height }: typeof BAR, title: string) => {
    const [from, until] = run.cells;
    const fill =
      run.state === 'part' || run.state === 'none'
        ? html` fill="url(#days-${run.state})"`
        : html` class="${run.state}"`;
    return html`<rect${fill} x="${percent(from / cells)}" y="${y}" width="${percent((until - from) / cells)}" height="${height}">${title !== '' && html`<title>${title}</title>`}</rect>`;
  };
  const gapsIn = rangesIn(chain.gaps);
  const unpricedIn = rangesIn(chain.unpriced.ranges.map(({ from, to }): Range => [from, to]));
  return html`<svg width="100%" height="${HEIGHT}" role="img"><title>${label}</title>${days.map((run) =>
    rect(run, BAR, run.state === 'whole' ? '' : missingText(run, gapsIn(run.days), chain)),
  )}${prices.map((run) => rect(run, FOOT, unpricedText(run, unpricedIn(run.days), chain)))}</svg>`;
}

function missingText({ state, days }: Run<DayState>, gaps: readonly Range[], chain: CoveredDays): string {
  const [gap, another] = gaps;
  if (gap === undefined) return `No block after ${chain.days[1]}`;
  if (another !== undefined)
    return `Blocks are missing in ${count(gaps.length)} places from ${days[0]} to ${days[1]}`;
  return `${state === 'none' ? 'No block' : 'Blocks are missing'} ${gapText(gap)}`;
}

function unpricedText(
  { days }: Run<PriceState>,
  ranges: readonly Range[],
  { unpriced }: CoveredDays,
): string {
  const [range, another] = ranges;
  const [from, to] = range !== undefined && another === undefined ? range : days;
  const where = another === undefined ? '' : ` in ${count(ranges.length)} places`;
  return `No price of ${unpriced.token}${where} ${from === to ? `on ${from}` : `from ${from} to ${to}`}`;
}

/** Returns a lookup of the ranges that overlap some days. Call it with ascending days: it only moves forward. */
function rangesIn(ranges: readonly Range[]): (days: Range) => readonly Range[] {
  let passed = 0;
  return ([first, last]) => {
    while ((ranges[passed]?.[1] ?? first) < first) passed++;
    let end = passed;
    while ((ranges[end]?.[0] ?? '~') <= last) end++;
    return ranges.slice(passed, end);
  };
}

/** The legend of the states that occur. It also defines the hatch patterns of the strips. */
function keyOf(strips: readonly Strip[]): Html {
  const seen = new Set(strips.flatMap(({ days, prices }) => [...days, ...prices].map(({ state }) => state)));
  const hatch = (state: DayState) =>
    html`<pattern id="days-${state}" class="${state}" width="${HATCH}" height="${HATCH}" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="${HATCH}" height="${HATCH}"/><path d="M1,0V${HATCH}"/></pattern>`;
  const looks = [
    ['whole', html` class="whole"`, 'all blocks stored'],
    ['part', html` fill="url(#days-part)"`, 'some blocks missing'],
    ['none', html` fill="url(#days-none)"`, 'no block stored'],
    ['unpriced', html` class="unpriced"`, 'no price'],
  ] as const;
  return html`<ul class="key"><li class="unseen"><svg width="0" height="0" aria-hidden="true"><defs>${hatch('part')}${hatch('none')}</defs></svg></li>${looks
    .filter(([state]) => seen.has(state))
    .map(
      ([state, look, text]) =>
        html`<li><svg width="26" height="${BAR.height}" aria-hidden="true"><rect${look} width="26" ${state === 'unpriced' ? html`y="${BAR.height - FOOT.height}" height="${FOOT.height}"` : html`height="${BAR.height}"`}/></svg>${text}</li>`,
    )}</ul>`;
}

const count = (value: number): string => formatExact(value, 'count');
const percent = (share: number): string => `${Number((share * 100).toFixed(3))}%`;
