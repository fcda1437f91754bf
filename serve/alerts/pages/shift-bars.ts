/** Shifts as an SVG without a script, a row for each person. A table beside it has the same content. */
import { type Html, html } from '../../pages/html.ts';
import type { Span } from '../oncall/time-intervals.ts';
import { type StaffedSpan, stretchesOf } from './on-call-board.ts';
import type { ZoneTimes } from './zone-times.ts';

interface BarRow {
  /** '' for nobody. */
  readonly user: string;
  /** Index of the colour of the person. It is the same on every page of a schedule. */
  readonly colour: number;
  readonly stretches: readonly Span[];
}

interface Drawing extends Span {
  readonly rows: readonly BarRow[];
  readonly now: number;
  readonly nameOf: (user: string) => string;
  /** The zone of the schedule, above the bars. */
  readonly times: ZoneTimes;
  /** The zone of the reader, below the bars; null if its days start at the same moments. */
  readonly reader: ZoneTimes | null;
}

const HEAD = 38;
const ROW = 42;
const BAR = { y: 20, height: 16 };
const COLOURS = 10;

/** A row for each person in the order of `people`, then others, then nobody. Stretches that touch become one. */
export function barRows(
  shifts: readonly StaffedSpan[],
  gaps: readonly Span[],
  people: readonly string[],
): BarRow[] {
  const users = new Set([...people, ...shifts.flatMap((shift) => shift.users)]);
  const rows = [...users]
    .map((user, i) => ({ user, colour: i % COLOURS, stretches: stretchesOf(shifts, user) }))
    .filter(({ stretches }) => stretches.length > 0);
  return gaps.length === 0 ? rows : [...rows, { user: '', colour: 0, stretches: gaps }];
}

/** Draws the bars. Positions are percentages of the width, so texts keep their size on every screen. */
export function shiftBars(drawing: Drawing): Html {
  const { from, until, rows, now, times, reader } = drawing;
  const bottom = HEAD + rows.length * ROW;
  const height = bottom + (reader === null ? 4 : HEAD);
  const share = (ms: number) => `${((100 * (ms - from)) / (until - from)).toFixed(3)}%`;
  const days = times.days(from, until);
  return html`<svg class="shift-bars" width="100%" height="${height}" aria-hidden="true">
${days.map((day) => html`<line class="day" x1="${share(day)}" x2="${share(day)}" y1="4" y2="${bottom}"/>`)}
${dayNames(days, times, 14, share)}
${rows.map((row, i) => barRow(row, HEAD + i * ROW, drawing, share))}
${reader !== null && dayNames(reader.days(from, until), reader, bottom + 16, share)}
${now > from && now < until && html`<line class="now" x1="${share(now)}" x2="${share(now)}" y1="4" y2="${bottom}"><title>now</title></line>`}
</svg>`;
}

function dayNames(
  days: readonly number[],
  times: ZoneTimes,
  y: number,
  share: (ms: number) => string,
): Html[] {
  return days.map((day) => {
    const [weekday = '', date = ''] = times.day(day).split(/[ ,]+/);
    const at = html`x="${share(day)}" dx="4"`;
    return html`<text class="weekday" ${at} y="${y}">${weekday.slice(0, 2)}</text><text ${at} y="${y + 15}">${date}</text>`;
  });
}

function barRow(
  { user, colour, stretches }: BarRow,
  top: number,
  { from, until, nameOf, times }: Drawing,
  share: (ms: number) => string,
): Html {
  const name = user === '' ? 'Nobody' : nameOf(user);
  const bars = stretches
    .map((stretch) => ({ from: Math.max(stretch.from, from), until: Math.min(stretch.until, until) }))
    .filter((stretch) => stretch.from < stretch.until)
    .map((stretch) => {
      const width = (100 * (stretch.until - stretch.from)) / (until - from);
      return html`<rect x="${share(stretch.from)}" width="${width.toFixed(3)}%" y="${top + BAR.y}" height="${BAR.height}"><title>${name}: ${times.moment(stretch.from)} to ${times.moment(stretch.until)}</title></rect>`;
    });
  return html`<g class="${user === '' ? 'nobody' : `line-${colour}`}"><text class="name" x="0" dx="4" y="${top + 14}">${name}</text>${bars}</g>`;
}
