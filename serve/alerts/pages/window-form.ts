import type { Form } from '../../http/form.ts';
import { textField } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import { RequestRefused } from '../model/access.ts';
import { INTERVALS_MAX, type LocatedInterval, locatedIntervalSchema } from '../oncall/time-intervals.ts';
import type { WindowFields } from '../suppression/windows.ts';
import { linesOf, matchersIn } from './matcher-lines.ts';
import { timeZoneList } from './schedule-form.ts';
import { ZoneTimes } from './zone-times.ts';

/** The lists of an interval. A field shows a list as text, such as `monday:friday, sunday`. */
const LISTS = ['weekdays', 'days_of_month', 'months', 'years'] as const;
const INTERVAL_FIELDS = ['times', ...LISTS, 'location'] as const;
type IntervalDraft = Readonly<Record<(typeof INTERVAL_FIELDS)[number], string>>;

/** Form values as text, so that a refused form shows them again. */
export interface WindowDraft {
  readonly name: string;
  readonly matchers: string;
  readonly intervals: readonly IntervalDraft[];
  readonly from: string;
  readonly until: string;
  readonly comment: string;
  readonly active: boolean;
}

const newInterval = (location: string): IntervalDraft => ({
  ...{ times: '', weekdays: '', days_of_month: '', months: '', years: '', location },
});

/** A new window in the zone of the reader, or in UTC. */
export const newDraft = (zone: string): WindowDraft => ({
  ...{ name: '', matchers: '', from: '', until: '', comment: '', active: true },
  intervals: [newInterval(zone || 'UTC')],
});

/** The zone of the bounds of a window. */
export const zoneOf = (intervals: readonly LocatedInterval[]): string => intervals[0]?.location ?? 'UTC';

export function draftOf(window: WindowFields): WindowDraft {
  const times = new ZoneTimes(zoneOf(window.time_intervals));
  const bound = (ms: number) => (ms === 0 ? '' : times.input(ms));
  return {
    name: window.name,
    matchers: linesOf(window.matchers),
    intervals: window.time_intervals.map(intervalDraft),
    from: bound(window.from_ms),
    until: bound(window.until_ms),
    comment: window.comment,
    active: window.is_active,
  };
}

function intervalDraft(interval: LocatedInterval): IntervalDraft {
  const list = (name: (typeof LISTS)[number]) => (interval[name] ?? []).join(', ');
  return {
    times: (interval.times ?? []).map(({ start_time, end_time }) => `${start_time}-${end_time}`).join(', '),
    weekdays: list('weekdays'),
    days_of_month: list('days_of_month'),
    months: list('months'),
    years: list('years'),
    location: interval.location,
  };
}

export function draftIn(form: Form): WindowDraft {
  const count = Math.min(Math.floor(Number(form.text('intervals'))) || 0, INTERVALS_MAX);
  const intervalAt = (i: number) =>
    Object.fromEntries(INTERVAL_FIELDS.map((name) => [name, form.text(`${name}-${i}`)])) as IntervalDraft;
  return {
    name: form.text('name'),
    matchers: form.text('matchers'),
    intervals: Array.from({ length: count }, (_, i) => intervalAt(i)),
    from: form.text('from'),
    until: form.text('until'),
    comment: form.text('comment'),
    active: form.has('active'),
  };
}

/** The draft after a button that adds or removes an interval; null for the button that saves it. */
export function editDraft(draft: WindowDraft, button: string): WindowDraft | null {
  const { intervals } = draft;
  const [, removed] = /^remove-(\d{1,2})$/.exec(button) ?? [];
  if (removed !== undefined) return { ...draft, intervals: intervals.toSpliced(Number(removed), 1) };
  if (button !== 'add') return null;
  const next = newInterval(intervals.at(-1)?.location ?? 'UTC');
  return { ...draft, intervals: [...intervals, next].slice(0, INTERVALS_MAX) };
}

export function fieldsIn(draft: WindowDraft): WindowFields {
  const time_intervals = draft.intervals.map(intervalIn);
  const times = new ZoneTimes(zoneOf(time_intervals));
  const boundIn = (field: 'from' | 'until') => {
    if (draft[field] === '') return 0;
    const moment = times.momentOf(draft[field]);
    if (moment === null) throw new RequestRefused('bad_request', 'Enter a date and a time.', field);
    return moment;
  };
  return {
    name: draft.name,
    matchers: matchersIn(draft.matchers, 'matchers'),
    time_intervals,
    from_ms: boundIn('from'),
    until_ms: boundIn('until'),
    comment: draft.comment,
    is_active: draft.active,
  };
}

const partsOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

function intervalIn(draft: IntervalDraft, i: number): LocatedInterval {
  const times = partsOf(draft.times).map((text) => {
    const [start_time = '', end_time = ''] = text.split('-').map((time) => time.trim());
    return { start_time, end_time };
  });
  const lists = LISTS.map((name) => [name, partsOf(draft[name])] as const).filter(
    ([, list]) => list.length > 0,
  );
  const input = {
    ...(times.length > 0 && { times }),
    ...Object.fromEntries(lists),
    location: draft.location.trim(),
  };
  const { data, error } = locatedIntervalSchema.safeParse(input);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new RequestRefused('bad_request', issue?.message ?? '', `${String(issue?.path[0])}-${i}`);
}

interface WindowFormParts {
  readonly draft: WindowDraft;
  readonly error: RequestRefused | null;
  readonly action: string;
  readonly token: Html;
  readonly submit: string;
}

/** The form of a window. Its buttons add and remove intervals without a script, because the server renders the form again. */
export function windowForm({ draft, error, action, token, submit }: WindowFormParts): Html {
  const faultOf = (field: string) => (error?.field === field ? error.message : null);
  const bound = (name: 'from' | 'until', label: string) =>
    textField({
      ...{ name, label, type: 'datetime-local', value: draft[name], required: false, fault: faultOf(name) },
    });
  const cards = draft.intervals.map((interval, i) => intervalCard(interval, i, { action, faultOf }));
  return html`<form class="policy" method="post" action="${action}">${token}<input type="hidden" name="intervals" value="${draft.intervals.length}">
<button class="unseen" tabindex="-1" aria-hidden="true">${submit}</button>
<section class="card">${textField({ name: 'name', label: 'Name', value: draft.name, hint: 'For example, the work that is done.', fault: faultOf('name') })}
${textField({ name: 'matchers', label: 'Matchers', value: draft.matchers, rows: 4, hint: 'Nobody is paged for matching alerts. One per line, such as team="storage". An alert must match all.', fault: faultOf('matchers') })}
${textField({ name: 'comment', label: 'Comment', value: draft.comment, required: false, isProse: true, hint: 'Optional.', fault: faultOf('comment') })}</section>
${cards}${timeZoneList}
${faultOf('time_intervals') && html`<p class="fault" role="alert">${faultOf('time_intervals')}</p>`}
${draft.intervals.length < INTERVALS_MAX && html`<p><button class="second" name="do" value="add" formnovalidate formaction="${action}#interval-${draft.intervals.length + 1}">Add time interval</button></p>`}
<section class="card"><h2>Bounds</h2><p class="hint">Optional, in the time zone of the first interval. Between them, the window is on during its intervals, or always if it has none.</p>
<div class="fields">${bound('from', 'From')}${bound('until', 'Until')}</div>
<label class="choice"><input type="checkbox" name="active" value="on"${draft.active && html` checked`}><div><b>Active</b><span>An inactive window suppresses nothing.</span></div></label></section>
<button>${submit}</button></form>`;
}

interface IntervalContext {
  readonly action: string;
  readonly faultOf: (field: string) => string | null;
}

const LABELS = {
  times: [
    'Times',
    'For example 22:00-06:00, 12:00-13:00. Empty: the whole day. An end at or before the start is on the next day.',
  ],
  weekdays: ['Days of the week', 'For example monday:friday, sunday. Empty: all.'],
  days_of_month: ['Days of the month', 'For example 1:7, or -1 for the last day. Empty: all.'],
  months: ['Months', 'For example may:august, december. Empty: all.'],
  years: ['Years', 'For example 2027:2028. Empty: all.'],
  location: ['Time zone', 'For example Europe/Berlin.'],
} as const;

function intervalCard(interval: IntervalDraft, i: number, { action, faultOf }: IntervalContext): Html {
  const number = i + 1;
  const fields = INTERVAL_FIELDS.map((name) => {
    const [label, hint] = LABELS[name];
    const field = `${name}-${i}`;
    const isZone = name === 'location';
    return textField({
      ...{ name: field, label, hint, value: interval[name], required: isZone, fault: faultOf(field) },
      ...(isZone && { list: 'time-zones' }),
    });
  });
  return html`<section class="card" id="interval-${number}"><h2>Time interval ${number}</h2>
${fields}
<button class="danger small" name="do" value="remove-${i}" formnovalidate formaction="${action}" aria-label="Remove time interval ${number}">Remove</button></section>`;
}
