import { cleanLine } from '../../aggregate/alerts/formats/values.ts';
import type { Form } from '../http/form.ts';
import { textField } from './fields.ts';
import { type Html, html } from './html.ts';

export interface Confirmation {
  /** A question that names the object. */
  readonly question: string;
  readonly facts: readonly (readonly [name: string, value: Html | string])[];
  /** What the action deletes or ends, and what stays. */
  readonly consequence: string;
  readonly action: string;
  readonly token: Html;
  readonly submit: string;
  /** The page to go back to. */
  readonly back: string;
  /** Name that the user must type to confirm. */
  readonly name?: string;
  readonly fault?: string | null;
  /** Further fields of the form. */
  readonly fields?: Html | false;
}

/** The confirmation page of an irreversible action. */
export function confirmation(content: Confirmation): Html {
  const { question, facts, consequence, action, token, submit, back, name, fault, fields } = content;
  return html`<section class="card confirm"><h1>${question}</h1>
<dl class="facts">${facts.map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}</dl>
<p class="note warn">${consequence}</p>
<form method="post" action="${action}">${token}<input type="hidden" name="confirmed" value="yes">
${name !== undefined && textField({ name: 'name', label: `Type ${shownName(name)} to confirm`, fault })}
${fields}
<div class="actions"><button class="danger">${submit}</button><a class="button second" href="${back}">Cancel</a></div></form></section>`;
}

/** Whether a submitted form confirms the action; `name` is the name that the user must type. */
export const isConfirmed = (form: Form, name?: string): boolean =>
  form.text('confirmed') === 'yes' &&
  (name === undefined || shownName(form.text('name')) === shownName(name));

/** A name as browsers display it: without hidden characters and with collapsed white space. */
const shownName = (name: string): string => cleanLine(name).replace(/\s+/g, ' ');
