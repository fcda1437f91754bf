import type { Form } from '../../http/form.ts';
import { textField } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { RequestRefused } from '../model/access.ts';
import type { Policy } from '../oncall/policies.ts';
import { type AlertRoute, ROUTE_DELAY_SECONDS_MAX, ROUTES_MAX } from '../oncall/routes.ts';
import { select } from './frame.ts';
import { linesOf, matchersIn } from './matcher-lines.ts';

/** Form values as text, so that a refused form shows them again. */
export interface RouteDraft {
  readonly name: string;
  /** One per line. */
  readonly matchers: string;
  readonly policy: string;
  readonly delay: string;
  /** From 1. */
  readonly position: string;
  readonly continues: boolean;
  readonly active: boolean;
}

export const newDraft = (position: number): RouteDraft => ({
  ...{ name: '', matchers: '', policy: '', delay: '0', position: String(position) },
  ...{ continues: false, active: true },
});

export const draftOf = (route: AlertRoute, position: number): RouteDraft => ({
  name: route.name,
  matchers: linesOf(route.matchers),
  policy: route.policy_id,
  delay: String(route.delay_seconds),
  position: String(position),
  continues: route.continues,
  active: route.is_active,
});

export const draftIn = (form: Form): RouteDraft => ({
  name: form.text('name'),
  matchers: form.text('matchers'),
  policy: form.text('policy'),
  delay: form.text('delay'),
  position: form.text('position'),
  continues: form.has('continues'),
  active: form.has('active'),
});

export const routeOf = (draft: RouteDraft): AlertRoute => ({
  name: draft.name,
  matchers: matchersIn(draft.matchers, 'matchers'),
  policy_id: draft.policy,
  delay_seconds: draft.delay.trim() === '' ? Number.NaN : Number(draft.delay),
  continues: draft.continues,
  is_active: draft.active,
});

interface RouteFormParts {
  readonly draft: RouteDraft;
  readonly policies: readonly Policy[];
  readonly error: RequestRefused | null;
  /** True for the default route, which has no matchers and a fixed position. */
  readonly isDefault: boolean;
}

export function routeFields({ draft, policies, error, isDefault }: RouteFormParts): Html {
  // Errors of the whole list have the index of the route before its field.
  const faultOf = (field: string) => (error?.field?.replace(/^\d+\./, '') === field ? error.message : null);
  const options = policies.map(({ id, name }): [string, string] => [id, name]);
  const fault = faultOf('policy_id');
  const matching = html`${textField({ name: 'name', label: 'Name', value: draft.name, hint: 'For example, the team that the alerts are for.', fault: faultOf('name') })}
${textField({ name: 'matchers', label: 'Matchers', value: draft.matchers, rows: 4, hint: 'One per line, such as severity="critical" or team=~"storage|network". An alert must match all.', fault: faultOf('matchers') })}
${textField({ name: 'position', label: 'Position', type: 'number', value: draft.position, hint: `1 to ${ROUTES_MAX}: the first route that matches takes the alert.`, fault: faultOf('position') })}`;
  const checks = html`${check('continues', draft.continues, 'Continue', 'An alert that matches also goes on to the next routes.')}
${check('active', draft.active, 'Active', 'An inactive route takes no alerts.')}`;
  return html`${!isDefault && matching}
<div class="picker">${select('policy', 'Policy', [['', 'None: nobody is paged'], ...options], draft.policy)}</div>
${fault && html`<p class="fault" role="alert">${fault}</p>`}
${textField({ name: 'delay', label: 'Delay (seconds)', type: 'number', value: draft.delay, hint: `0 to ${ROUTE_DELAY_SECONDS_MAX}. Nobody is paged if the alert resolves within the delay.`, fault: faultOf('delay_seconds') })}
${!isDefault && checks}`;
}

const check = (name: string, isChecked: boolean, label: string, text: string): Html =>
  html`<label class="choice"><input type="checkbox" name="${name}" value="on"${isChecked && html` checked`}><div><b>${label}</b><span>${text}</span></div></label>`;
