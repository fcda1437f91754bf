/** The active times of a rotation in a form: days of the week, and one span of the day. */
import type { Form } from '../../http/form.ts';
import { textField } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import { RequestRefused } from '../model/access.ts';
import type { TimeInterval } from '../oncall/time-intervals.ts';

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

interface SimpleTimes {
  /** Chosen weekdays; none means all. */
  readonly weekdays: readonly string[];
  /** '' for the whole day. */
  readonly start: string;
  readonly end: string;
}

/** Null for intervals that the form cannot show. */
function simpleTimes(intervals: readonly TimeInterval[]): SimpleTimes | null {
  const [interval, ...more] = intervals;
  if (interval === undefined) return { weekdays: [], start: '', end: '' };
  const { weekdays = [], times = [], ...others } = interval;
  const isSimple = more.length === 0 && times.length < 2 && Object.values(others).every((list) => !list);
  if (!isSimple) return null;
  const days = weekdays.map(String).flatMap(daysOfRange);
  return { weekdays: days, start: times[0]?.start_time ?? '', end: times[0]?.end_time ?? '' };
}

/** `monday:wednesday` is three days. Weeks begin on Sunday, as in Alertmanager. */
function daysOfRange(range: string): string[] {
  const fromSunday = ['sunday', ...WEEKDAYS.slice(0, 6)];
  const [first = '', last = first] = range
    .toLowerCase()
    .split(':')
    .map((name) => name.trim());
  return fromSunday.slice(fromSunday.indexOf(first), fromSunday.indexOf(last) + 1);
}

/** The intervals that a form describes. */
export function activeTimesIn(form: Form): TimeInterval[] {
  if (form.has('active_times')) return parseActiveTimes(form.text('active_times'));
  const weekdays = WEEKDAYS.filter((day) => form.has(`on-${day}`));
  const start_time = form.text('active_start');
  const end_time = form.text('active_end');
  const times = start_time === '' && end_time === '' ? [] : [{ start_time, end_time }];
  if (weekdays.length === 0 && times.length === 0) return [];
  return [{ ...(weekdays.length > 0 && { weekdays }), ...(times.length > 0 && { times }) }];
}

/** Reads the hidden field of times that the form cannot show. */
function parseActiveTimes(json: string): TimeInterval[] {
  try {
    return JSON.parse(json);
  } catch {
    throw new RequestRefused(
      'bad_request',
      'The active times are not valid JSON. Reload the page.',
      'active_times',
    );
  }
}

export function activeTimesFields(intervals: readonly TimeInterval[], fault: string | null): Html {
  const simple = simpleTimes(intervals);
  if (simple === null) {
    const json = JSON.stringify(intervals);
    return html`<input type="hidden" name="active_times" value="${json}"><div class="field"><b>Active times</b><code>${json}</code><p class="hint">Only the API can change these.</p></div>`;
  }
  const { weekdays, start, end } = simple;
  const hint = 'For example 18:00 to 08:00. An end at or before the start is on the next day.';
  return html`<fieldset class="field"><legend>Active</legend><p class="hint">Leave all fields empty for a rotation that is always active. Handoffs continue while it is inactive.</p>
<div class="weekdays">${WEEKDAYS.map(
    (day) =>
      html`<label class="choice"><input type="checkbox" name="on-${day}" value="on"${weekdays.includes(day) && html` checked`}>${day.slice(0, 1).toUpperCase()}${day.slice(1, 3)}</label>`,
  )}</div>
<div class="fields">${textField({ name: 'active_start', label: 'From', value: start, type: 'time', required: false, fault })}
${textField({ name: 'active_end', label: 'Until', value: end, type: 'time', required: false })}</div><p class="hint">${hint}</p></fieldset>`;
}
