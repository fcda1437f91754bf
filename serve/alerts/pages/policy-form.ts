import type { Form } from '../../http/form.ts';
import { textField } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { RequestRefused } from '../model/access.ts';
import {
  POLICY_DEFAULTS,
  type Policy,
  type PolicyFields,
  STEPS_MAX,
  TARGETS_MAX,
} from '../oncall/policies.ts';
import { keyOfTarget, type TargetGroup, targetNames, targetOf } from './escalation-targets.ts';

interface StepDraft {
  readonly targets: readonly string[];
  readonly delay_minutes: string;
  readonly important: boolean;
}

/** Form values as text, so that a refused form shows them again. */
export interface PolicyDraft {
  readonly name: string;
  readonly steps: readonly StepDraft[];
  readonly repeats: string;
  readonly reminder_hours: string;
  readonly ack_timeout_minutes: string;
}

const NEW_STEP: StepDraft = { targets: [], delay_minutes: '10', important: false };

export const newDraft = (): PolicyDraft => ({
  name: '',
  steps: [NEW_STEP],
  repeats: String(POLICY_DEFAULTS.repeats),
  reminder_hours: String(POLICY_DEFAULTS.reminder_hours),
  ack_timeout_minutes: String(POLICY_DEFAULTS.ack_timeout_minutes),
});

export const draftOf = (policy: Policy): PolicyDraft => ({
  name: policy.name,
  steps: policy.steps.map(({ targets, delay_minutes, important }) => ({
    targets: targets.map(keyOfTarget),
    delay_minutes: String(delay_minutes),
    important,
  })),
  repeats: String(policy.repeats),
  reminder_hours: String(policy.reminder_hours),
  ack_timeout_minutes: String(policy.ack_timeout_minutes),
});

export function draftIn(form: Form): PolicyDraft {
  const count = Math.min(numberIn(form.text('steps')) || 0, STEPS_MAX);
  return {
    name: form.text('name'),
    steps: Array.from({ length: count }, (_, i) => ({
      targets: form.getAll(`target-${i}`).filter((key) => key !== ''),
      delay_minutes: form.text(`delay-${i}`),
      important: form.has(`important-${i}`),
    })),
    repeats: form.text('repeats'),
    reminder_hours: form.text('reminder_hours'),
    ack_timeout_minutes: form.text('ack_timeout_minutes'),
  };
}

/** NaN unless the text is a whole number. */
const numberIn = (text: string): number => (/^\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN);

export const fieldsIn = (draft: PolicyDraft): PolicyFields => ({
  name: draft.name,
  steps: draft.steps.map(({ targets, delay_minutes, important }) => ({
    targets: targets.map(targetOf).filter((target) => target !== null),
    delay_minutes: numberIn(delay_minutes),
    important,
  })),
  repeats: numberIn(draft.repeats),
  reminder_hours: numberIn(draft.reminder_hours),
  ack_timeout_minutes: numberIn(draft.ack_timeout_minutes),
});

/** The draft after a button that changes its steps; null for the button that saves it. */
export function editDraft(draft: PolicyDraft, button: string): PolicyDraft | null {
  const [, action = '', at = '0'] = /^(add|more|up|remove)(?:-(\d))?$/.exec(button) ?? [];
  const i = Number(at);
  const steps = [...draft.steps];
  if (action === '') return null;
  if (action === 'add' && steps.length < STEPS_MAX) steps.push(NEW_STEP);
  if (action === 'remove' && steps.length > 1) steps.splice(i, 1);
  if (action === 'up' && i > 0) steps.splice(i - 1, 0, ...steps.splice(i, 1));
  return { ...draft, steps };
}

interface PolicyFormParts {
  readonly draft: PolicyDraft;
  readonly groups: readonly TargetGroup[];
  readonly error: RequestRefused | null;
  readonly action: string;
  readonly token: Html;
  readonly submit: string;
  /** Shown before the button that saves. */
  readonly more?: Html | null;
}

/** The form of a policy. Its buttons change the steps without a script, because the server renders the form again. */
export function policyForm({ draft, groups, error, action, token, submit, more }: PolicyFormParts): Html {
  const faultOf = (field: string) => (error?.field === field ? error.message : null);
  const number = (name: 'repeats' | 'reminder_hours' | 'ack_timeout_minutes', label: string, hint: string) =>
    textField({ name, label, hint, type: 'number', value: draft[name], fault: faultOf(name) });
  const steps = draft.steps.map((step, i) =>
    stepCard(step, i, { groups, action, faultOf, isOnly: draft.steps.length === 1 }),
  );
  return html`<form class="policy" method="post" action="${action}">${token}<input type="hidden" name="steps" value="${draft.steps.length}">
<button class="unseen" tabindex="-1" aria-hidden="true">${submit}</button>
<section class="card">${textField({ name: 'name', label: 'Name', value: draft.name, hint: 'For example, the team or the time of day.', fault: faultOf('name') })}</section>
${steps}
${faultLine(faultOf('steps'))}
${draft.steps.length < STEPS_MAX && html`<p><button class="second" name="do" value="add" formnovalidate formaction="${action}#step-${draft.steps.length + 1}">Add step</button></p>`}
<section class="card"><h2>After the last step</h2>
${number('repeats', 'Repeats', 'How many times the steps run again until somebody acknowledges: 0 to 10.')}
${number('reminder_hours', 'Reminder (hours)', 'Hours until the steps start again: up to 24. 0 means never.')}
${number('ack_timeout_minutes', 'Acknowledgement ends (minutes)', 'Minutes until an acknowledged alert that is still open pages again: up to 1440. 0 means never.')}</section>
${more}<button>${submit}</button></form>`;
}

interface StepContext extends Pick<PolicyFormParts, 'groups' | 'action'> {
  readonly faultOf: (field: string) => string | null;
  /** True if the policy has no other step. */
  readonly isOnly: boolean;
}

function stepCard(step: StepDraft, i: number, { groups, action, faultOf, isOnly }: StepContext): Html {
  const number = i + 1;
  const fault = faultOf(`steps.${i}.targets`);
  const keys = step.targets.length < TARGETS_MAX ? [...step.targets, ''] : step.targets;
  const button = (what: string, text: string, label: string, look = 'second small') =>
    html`<button class="${look}" name="do" value="${what}-${i}" formnovalidate formaction="${action}#step-${what === 'up' ? i : number}" aria-label="${label}">${text}</button>`;
  return html`<section class="card" id="step-${number}"><h2>Step ${number}</h2>
<div class="targets">${keys.map((key, j) => targetSelect(groups, key, { name: `target-${i}`, label: `Step ${number}, target ${j + 1}`, hasFault: fault !== null && j === 0 }))}
${button('more', 'Add another', `Add another target to step ${number}`)}</div>
${faultLine(fault)}
${textField({ name: `delay-${i}`, label: 'Then wait (minutes)', type: 'number', value: step.delay_minutes, hint: '1 to 1440 minutes until the next step.', fault: faultOf(`steps.${i}.delay_minutes`) })}
<label class="choice"><input type="checkbox" name="important-${i}" value="on"${step.important && html` checked`}><div><b>Important</b><span>People are notified by their rules for important pages.</span></div></label>
${!isOnly && html`<div class="actions">${i > 0 && button('up', 'Move up', `Move up step ${number}`)}${button('remove', 'Remove step', `Remove step ${number}`, 'danger small')}</div>`}</section>`;
}

function targetSelect(
  groups: readonly TargetGroup[],
  chosen: string,
  { name, label, hasFault }: { readonly name: string; readonly label: string; readonly hasFault: boolean },
): Html {
  const isGone = chosen !== '' && !targetNames(groups).has(chosen);
  const option = (key: string, text: string) =>
    html`<option value="${key}"${key === chosen && html` selected`}>${text}</option>`;
  return html`<select name="${name}" aria-label="${label}"${hasFault && html` aria-invalid="true" autofocus`}>${option('', 'Choose a target')}
${isGone && option(chosen, 'No longer available')}
${groups.map(({ label, options }) => options.length > 0 && html`<optgroup label="${label}">${options.map(({ key, name }) => option(key, name))}</optgroup>`)}</select>`;
}

const faultLine = (fault: string | null): Html | null =>
  fault === null ? null : html`<p class="fault" role="alert">${fault}</p>`;
