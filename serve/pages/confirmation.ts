import { enteredLine } from '../../aggregate/alerts/formats/values.ts';
import type { Form } from '../http/form.ts';
import { textField } from './fields.ts';
import { type Html, html } from './html.ts';

export interface Confirmation {
  /** A question that names the thing. */
  readonly question: string;
  readonly facts: readonly (readonly [name: string, value: Html | string])[];
  /** What ends, and what stays. */
  readonly consequence: string;
  readonly action: string;
  readonly token: Html;
  readonly submit: string;
  /** The page to go back to. */
  readonly back: string;
  /** Name that has to be typed. */
  readonly name?: string;
  readonly fault?: string | null;
  /** Further fields of the form. */
  readonly fields?: Html | false;
}

/** Asks before something ends that cannot be brought back. */
export function confirmation(asked: Confirmation): Html {
  const { question, facts, consequence, action, token, submit, back, name, fault, fields } = asked;
  return html`<section class="card confirm"><h1>${question}</h1>
<dl class="facts">${facts.map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}</dl>
<p class="note warn">${consequence}</p>
<form method="post" action="${action}">${token}<input type="hidden" name="confirmed" value="yes">
${name !== undefined && textField({ name: 'name', label: `Type ${shownName(name)} to confirm`, fault })}
${fields}
<div class="actions"><button class="danger">${submit}</button><a class="button second" href="${back}">Cancel</a></div></form></section>`;
}

/** Whether a form comes from a confirmation; `name` is what had to be typed. */
export const isConfirmed = (form: Form, name?: string): boolean =>
  form.text('confirmed') === 'yes' &&
  (name === undefined || shownName(form.text('name')) === shownName(name));

/** What is seen of a name: browsers show white space as one space, and nobody could type what is hidden. */
const shownName = (name: string): string => enteredLine(name).replace(/\s+/g, ' ');
