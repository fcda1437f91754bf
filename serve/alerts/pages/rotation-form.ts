import type { Form } from '../../http/form.ts';
import { textField } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { RequestRefused } from '../model/access.ts';
import { ROTATION_UNITS } from '../oncall/on-call.ts';
import { NEW_ROTATION, type RotationFields } from '../oncall/rotations.ts';
import { activeTimesFields, activeTimesIn } from './active-times.ts';
import { select } from './frame.ts';
import type { Candidate } from './schedule-parts.ts';

const PRIORITIES = 10;
/** Lines for the turns of a new rotation. */
const NEW_TURNS = 3;
const EXTRA_TURNS = 5;
/** A form may have up to 200 parameters. */
const PEOPLE_FIELDS_MAX = 150;
/** The choice of a turn without anybody on call. */
const OFF = 'off';

export const newRotation = (starts_at: string): RotationFields => ({
  ...{ ...NEW_ROTATION, active_times: [] },
  ...{ name: '', turns: [], starts_at },
});

/** The rotation in a form, unchecked. */
export const rotationIn = (form: Form): RotationFields => ({
  name: form.text('name'),
  priority: Number(form.text('priority')),
  starts_at: form.text('starts_at'),
  ends_at: form.text('ends_at') || null,
  length: Number(form.text('length')),
  unit: ROTATION_UNITS.find((unit) => unit === form.text('unit')) ?? NEW_ROTATION.unit,
  turns: turnsIn(form),
  active_times: activeTimesIn(form),
});

/** Leaves out empty lines. */
function turnsIn(form: Form): string[][] {
  const names = [...new Set(form.keys())].filter((name) => /^turn-\d+$/.test(name));
  return names
    .sort((a, b) => Number(a.slice(5)) - Number(b.slice(5)))
    .map((name) => form.getAll(name).filter((value) => value !== ''))
    .filter((people) => people.length > 0)
    .map((people) => [...new Set(people)].filter((user) => user !== OFF));
}

interface RotationForm {
  readonly project: string;
  readonly draft: RotationFields;
  readonly candidates: readonly Candidate[];
  readonly zone: string;
  readonly error: RequestRefused | null;
  /** True after the button "More turns". */
  readonly asksForMore: boolean;
}

export function rotationFields({ project, draft, candidates, zone, error, asksForMore }: RotationForm): Html {
  const faultOf = (field: string) =>
    error?.field === field || error?.field?.startsWith(`${field}.`) ? error.message : null;
  const { name, priority, starts_at, ends_at, length, unit, turns, active_times } = draft;
  const lines = turns.length + (asksForMore ? EXTRA_TURNS : Math.max(1, NEW_TURNS - turns.length));
  return html`${textField({ name: 'name', label: 'Name', value: name, hint: 'For example, Weekdays.', fault: faultOf('name') })}
${turnFields(turns, lines, candidates, faultOf('turns'))}
<p class="hint">Only <a href="/projects/${project}/members">members</a> with the role Developer or a higher one can be on call.</p>
<div class="fields">${textField({ name: 'length', label: 'A turn lasts', type: 'number', value: String(length), fault: faultOf('length') })}
${select(
  'unit',
  'Unit',
  ROTATION_UNITS.map((unit) => [unit, unit]),
  unit,
)}</div>
<div class="fields">${textField({ name: 'starts_at', label: 'First handoff', type: 'datetime-local', value: starts_at, hint: `In the time zone ${zone}. Later handoffs are counted from it.`, fault: faultOf('starts_at') })}
${textField({ name: 'ends_at', label: 'Ends', type: 'datetime-local', value: ends_at ?? '', required: false, hint: 'Optional.', fault: faultOf('ends_at') })}</div>
<details${(priority > 0 || active_times.length > 0) && html` open`}><summary>Active times and priority</summary>
${activeTimesFields(active_times, faultOf('active_times'))}
<div class="picker">${select(
    'priority',
    'Priority',
    Array.from({ length: PRIORITIES }, (_, i) => [String(i), i === 0 ? '0, the lowest' : String(i)] as const),
    String(priority),
  )}</div><p class="hint">The rotations with the highest priority decide who is on call. Rotations without anybody on call at that time do not count.</p></details>`;
}

function turnFields(
  turns: readonly (readonly string[])[],
  lines: number,
  candidates: readonly Candidate[],
  fault: string | null,
): Html {
  const hasRoom = turns.flat().length + 2 * lines <= PEOPLE_FIELDS_MAX;
  const line = (people: readonly string[], i: number) => {
    const chosen = people.length === 0 && i < turns.length ? [OFF] : people;
    const fields = [...(chosen.length === 0 ? [''] : chosen), ...(hasRoom ? [''] : [])];
    return html`<li>${fields.map((user, j) => personSelect(i, j, user, candidates))}</li>`;
  };
  return html`<fieldset class="field turns"${fault && html` aria-describedby="turns-fault"`}><legend>Turns, in their order</legend>
<ol>${Array.from({ length: lines }, (_, i) => line(turns[i] ?? [], i))}</ol>
${fault && html`<p class="fault" id="turns-fault">${fault}</p>`}<button class="second small" name="do" value="more" formnovalidate>More turns</button>
<p class="hint">After the last turn, the first turn follows. Lines without a person are ignored.</p></fieldset>`;
}

function personSelect(turn: number, place: number, user: string, candidates: readonly Candidate[]): Html {
  const isMember = user === '' || user === OFF || candidates.some(([id]) => id === user);
  const options: readonly Candidate[] = [
    ['', place === 0 ? 'Choose a person' : 'and …'],
    ...(place === 0 ? [[OFF, 'Nobody: a turn off'] as const] : []),
    ...candidates,
    ...(isMember ? [] : [[user, 'No longer a member'] as const]),
  ];
  const label = place === 0 ? `Turn ${turn + 1}` : `Turn ${turn + 1}, person ${place + 1}`;
  return html`<select name="turn-${turn}" aria-label="${label}">${options.map(
    ([value, text]) => html`<option value="${value}"${value === user && html` selected`}>${text}</option>`,
  )}</select>`;
}
