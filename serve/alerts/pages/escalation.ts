import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HttpError } from '../../http/errors.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import type { Policy, PolicyStep } from '../oncall/policies.ts';
import { type AlertRoute, ROUTE_DELAY_SECONDS_MAX } from '../oncall/routes.ts';
import { serveConfirmationPage } from './confirmation-page.ts';
import { keyOfTarget, targetGroups, targetNames } from './escalation-targets.ts';
import { type ProjectFrame, select, type Visit } from './frame.ts';
import {
  draftIn,
  draftOf,
  editDraft,
  fieldsIn,
  newDraft,
  type PolicyDraft,
  policyForm,
} from './policy-form.ts';
import { unreachableNote, unreachableUsers } from './schedule-parts.ts';

const LIST = '/projects/:id/escalation';
const NEW = `${LIST}/new`;
const ONE = `${LIST}/:policy`;

const policyIdOf = (request: FastifyRequest) => (request.params as { policy: string }).policy;
const listPath = ({ membership }: Visit) => `/projects/${membership.project.id}/escalation`;

interface EscalationPageParts
  extends Pick<
    AlertDomain,
    'policies' | 'alertRoutes' | 'channels' | 'members' | 'messageSender' | 'notificationRules' | 'schedules'
  > {
  readonly frame: ProjectFrame;
}

/** The escalation policies of a project, and the policy of the default route. */
export function serveEscalationPages(pages: FastifyInstance, parts: EscalationPageParts): void {
  const { frame } = parts;
  pages.get(LIST, async (request, reply) =>
    sendList(parts, reply, await frame.visit(request, reply, 'Reporter'), null),
  );
  pages.post(`${LIST}/route`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const form = formOf(request);
    const changes = { policy_id: form.text('policy'), delay_seconds: Number(form.text('delay')) };
    try {
      await changeDefaultRoute(parts, visit, changes, Number(form.text('version')));
      return seeOther(reply, listPath(visit), 'Changes saved. They apply to new alerts.');
    } catch (error) {
      if (error instanceof RequestRefused) return sendList(parts, reply, visit, error);
      if (!(error instanceof HttpError) || error.code !== 'precondition_failed') throw error;
      return seeOther(reply, listPath(visit), error.message, 'bad');
    }
  });
  serveNew(pages, parts);
  serveOne(pages, parts);
  serveDeletion(pages, parts);
}

async function defaultRoute({ alertRoutes }: EscalationPageParts, { membership }: Visit) {
  const { routes, version } = await alertRoutes.get(membership.project.id);
  return { ...(routes.at(-1) as AlertRoute), version };
}

async function changeDefaultRoute(
  { alertRoutes }: EscalationPageParts,
  { membership, user }: Visit,
  changes: Partial<AlertRoute>,
  version: number,
): Promise<void> {
  const { id } = membership.project;
  const { routes } = await alertRoutes.get(id);
  const changed = routes.map((route, i) => (i === routes.length - 1 ? { ...route, ...changes } : route));
  await alertRoutes.put(id, changed, user.id, version);
}

function serveNew(pages: FastifyInstance, parts: EscalationPageParts): void {
  const { frame, policies } = parts;
  const send = async (reply: FastifyReply, visit: Visit, state: FormState) => {
    const isUnrouted = (await defaultRoute(parts, visit)).policy_id === '';
    const isChosen = reply.request.method === 'GET' || formOf(reply.request).has('route');
    const more =
      isUnrouted &&
      html`<section class="card"><label class="choice"><input type="checkbox" name="route" value="on"${isChosen && html` checked`}><div><b>Page new alerts by this policy</b><span>New alerts of the project page nobody yet.</span></div></label></section>`;
    return sendForm(parts, reply, visit, {
      ...state,
      ...{ title: 'New escalation policy', action: `${listPath(visit)}/new`, submit: 'Add policy' },
      more: more || null,
    });
  };
  pages.get(NEW, async (request, reply) =>
    send(reply, await frame.visit(request, reply, 'Maintainer'), { draft: newDraft(), error: null }),
  );
  pages.post(NEW, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const { id } = visit.membership.project;
    const form = formOf(request);
    const draft = draftIn(form);
    const changed = editDraft(draft, form.text('do'));
    if (changed !== null) return send(reply, visit, { draft: changed, error: null });
    let policy: Policy;
    try {
      policy = await policies.create(id, visit.user.id, fieldsIn(draft));
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      return send(reply, visit, { draft, error });
    }
    if (form.has('route')) {
      const { version } = await defaultRoute(parts, visit);
      await changeDefaultRoute(parts, visit, { policy_id: policy.id }, version);
    }
    const next = form.has('route')
      ? 'Alerts that no other route takes page by this policy.'
      : 'Choose it in a route to use it.';
    return seeOther(reply, listPath(visit), `The policy ${policy.name} was added. ${next}`);
  });
}

function serveOne(pages: FastifyInstance, parts: EscalationPageParts): void {
  const { frame, policies } = parts;
  const send = (reply: FastifyReply, visit: Visit, policy: Policy, state: FormState) => {
    const action = `${listPath(visit)}/${policy.id}`;
    return sendForm(parts, reply, visit, {
      ...state,
      ...{ title: policy.name, action, submit: 'Save policy' },
      after: html`<section class="card"><h2>Delete policy</h2><p>A policy can be deleted if no route leads to it and none of its pages is open.</p><a class="button danger" href="${action}/delete" aria-label="Delete policy ${policy.name}">Delete policy</a></section>`,
    });
  };
  pages.get(ONE, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const policy = await policies.get(visit.membership.project.id, policyIdOf(request));
    return send(reply, visit, policy, { draft: draftOf(policy), error: null });
  });
  pages.post(ONE, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const { id } = visit.membership.project;
    const policy = await policies.get(id, policyIdOf(request));
    const form = formOf(request);
    const draft = draftIn(form);
    const changed = editDraft(draft, form.text('do'));
    if (changed !== null) return send(reply, visit, policy, { draft: changed, error: null });
    try {
      await policies.change(id, policy.id, visit.user.id, fieldsIn(draft));
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.status === 404) throw error;
      return send(reply, visit, policy, { draft, error });
    }
    return seeOther(reply, listPath(visit), 'Changes saved. Open pages use them from their next step.');
  });
}

interface FormState {
  readonly draft: PolicyDraft;
  readonly error: RequestRefused | null;
}

interface FormPage extends FormState {
  readonly title: string;
  readonly action: string;
  readonly submit: string;
  readonly more?: Html | null;
  readonly after?: Html;
}

async function sendForm(
  parts: EscalationPageParts,
  reply: FastifyReply,
  visit: Visit,
  { title, after, ...form }: FormPage,
): Promise<FastifyReply> {
  const { error } = form;
  const groups = await targetGroups(parts, visit.membership.project.id);
  const body = html`<h1>${title}</h1><p class="lead">Each step notifies its targets and waits. If nobody acknowledges the alert in that time, the next step runs.</p>
${error && error.field === null && html`<p class="note bad" role="alert">${error.message}</p>`}
${policyForm({ ...form, groups, token: visit.token })}
${after}`;
  const status = error === null ? 200 : 422;
  return parts.frame.send(reply, visit, { tab: 'escalation', title, body, status });
}

const serveDeletion = (pages: FastifyInstance, { frame, policies }: EscalationPageParts): void =>
  serveConfirmationPage(pages, frame, {
    path: `${ONE}/delete`,
    tab: 'escalation',
    find: (request, visit) => policies.get(visit.membership.project.id, policyIdOf(request)),
    questionOf: ({ id, name, steps }, visit) => ({
      question: `Delete the policy ${name}?`,
      facts: [['Steps', String(steps.length)]],
      consequence: 'This fails while a route leads to it or one of its pages is open. It cannot be undone.',
      submit: 'Delete policy',
      back: `${listPath(visit)}/${id}`,
    }),
    execute: async ({ id }, visit, reply) => {
      await policies.delete(visit.membership.project.id, id, visit.user.id);
      return seeOther(reply, listPath(visit), 'Policy deleted.');
    },
  });

async function sendList(
  parts: EscalationPageParts,
  reply: FastifyReply,
  visit: Visit,
  error: RequestRefused | null,
): Promise<FastifyReply> {
  const { project, level } = visit.membership;
  const mayChange = level >= PROJECT_ROLES.Maintainer;
  const [list, route, isApplied, groups] = await Promise.all([
    parts.policies.list(project.id),
    defaultRoute(parts, visit),
    parts.alertRoutes.isApplied(project.id),
    targetGroups(parts, project.id),
  ]);
  const names = targetNames(groups);
  const people = list
    .flatMap(({ steps }) => steps.flatMap(({ targets }) => targets))
    .filter(({ type }) => type === 'user');
  const unreachable = await unreachableUsers(parts, [...new Set(people.map(({ id }) => id))]);
  const nameOf = (id: string) => names.get(keyOfTarget({ type: 'user', id })) ?? 'a former member';
  const noMail = parts.messageSender.missingSetup('email');
  const body = html`<div class="heading"><div><h1>Escalation</h1><p class="lead">A policy pages people step by step until somebody acknowledges the alert.</p></div>${mayChange && html`<a class="button" href="${listPath(visit)}/new">Add policy</a>`}</div>
${!isApplied && html`<p class="note warn">The <a href="/projects/${project.id}/integrations">integration with an on-call tool</a> is active and receives all alerts. Policies are not applied until you deactivate the integration.</p>`}
${isApplied && route.policy_id === '' && html`<p class="note warn">New alerts page nobody. ${list.length === 0 ? 'Add a policy first.' : 'Choose a policy for new alerts.'}</p>`}
${noMail !== '' && html`<p class="note warn">${noMail} Until then nobody is paged by e-mail.</p>`}
${unreachableNote(unreachable, nameOf)}
${list.length > 0 && routeCard(visit, list, route, error)}
${list.length === 0 && html`<p class="empty">No policies yet.</p>`}
${list.map((policy) => policyCard(policy, names, mayChange ? `${listPath(visit)}/${policy.id}` : null))}`;
  const status = error === null ? 200 : 422;
  return parts.frame.send(reply, visit, { tab: 'escalation', title: 'Escalation', body, status });
}

function routeCard(
  visit: Visit,
  policies: readonly Policy[],
  { policy_id, delay_seconds, version }: AlertRoute & { readonly version: number },
  error: RequestRefused | null,
): Html {
  const name = policies.find(({ id }) => id === policy_id)?.name ?? 'nobody is paged';
  if (visit.membership.level < PROJECT_ROLES.Maintainer)
    return html`<section class="card"><h2>New alerts</h2><dl class="facts"><dt>Policy</dt><dd>${name}</dd><dt>Delay</dt><dd>${delay_seconds} seconds</dd></dl></section>`;
  const options = policies.map(({ id, name }): [string, string] => [id, name]);
  return html`<section class="card"><h2>New alerts</h2><form method="post" action="${listPath(visit)}/route">${visit.token}<input type="hidden" name="version" value="${version}">
<div class="picker">${select('policy', 'Policy', [['', 'None: nobody is paged'], ...options], policy_id)}
<label>Delay (seconds)<input name="delay" type="number" inputmode="numeric" min="0" max="${ROUTE_DELAY_SECONDS_MAX}" value="${delay_seconds}" required></label><button>Save</button></div>
${error && html`<p class="fault" role="alert">${error.message}</p>`}
<p class="hint">Nobody is paged if the alert resolves within the delay. <a href="/projects/${visit.membership.project.id}/routes">Routes</a> before this one send alerts to other policies.</p></form></section>`;
}

function policyCard(policy: Policy, names: ReadonlyMap<string, string>, path: string | null): Html {
  const { name, steps, repeats, reminder_hours, ack_timeout_minutes } = policy;
  return html`<section class="card"><div class="heading"><div><h2>${name}</h2></div>${path && html`<a class="button second small" href="${path}" aria-label="Edit policy ${name}">Edit</a>`}</div>
<ol class="steps">${steps.map((step) => html`<li>${stepText(step, names)}</li>`)}</ol>
<p class="hint">${repeats === 0 ? 'The steps run once.' : `The steps run ${repeats + 1} times.`} ${reminder_hours > 0 && `They start again ${reminder_hours} h later.`} ${ack_timeout_minutes > 0 && `An acknowledged alert that is still open pages again after ${ack_timeout_minutes} min.`}</p></section>`;
}

const stepText = ({ targets, delay_minutes, important }: PolicyStep, names: ReadonlyMap<string, string>) =>
  html`${targets.map((target, i) => {
    const name = names.get(keyOfTarget(target));
    return html`${i > 0 && ', '}${name === undefined ? html`<span class="tag bad">no longer available</span>` : html`<b>${name}</b>`}`;
  })} ${important && html`<span class="tag warn">important</span>`} <span class="under">then ${delay_minutes} min</span>`;
