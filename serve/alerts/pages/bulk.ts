import type { FastifyInstance } from 'fastify';
import { ALERT_STATUSES, type AlertStatus } from '../../../aggregate/alerts/model/alert.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import type { StatusChanges } from '../projects/alert-actions.ts';
import type { ProjectFrame } from './frame.ts';
import { type ListQuery, listQueryOf, searchOf } from './list-query.ts';

/** Alerts of one request. A page has fewer. */
const BULK_MAX = 100;

export const STATUS_ACTIONS: Readonly<Record<AlertStatus, string>> = {
  triggered: 'Reopen',
  acknowledged: 'Acknowledge',
  resolved: 'Resolve',
  ignored: 'Ignore',
};

/** The buttons that change the selected alerts. The checkboxes refer to the form by its id. */
export function bulkBar(project: string, query: ListQuery, token: Html): Html {
  const [, , statuses] = query.tab;
  const offered = ALERT_STATUSES.filter(
    (status) =>
      !(statuses.length === 1 && statuses[0] === status) &&
      !(query.tab[0] === 'open' && status === 'triggered'),
  ).sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
  return html`<form class="bulk" id="bulk" method="post" action="/projects/${project}/alerts/bulk">${token}<input type="hidden" name="back" value="${searchOf(query, { page: String(query.page) })}">
<label class="choice" data-select-all hidden><input type="checkbox"><span>Select all on this page</span></label><span class="under" data-selected>Selected alerts:</span>
${offered.map((status) => html`<button class="second small" name="status" value="${status}">${STATUS_ACTIONS[status]}</button>`)}</form>`;
}

/** The order of the buttons. */
const ORDER: readonly AlertStatus[] = ['acknowledged', 'resolved', 'ignored', 'triggered'];

/** Changes the status of several alerts at once. */
export function serveBulk(
  pages: FastifyInstance,
  frame: ProjectFrame,
  { actions }: Pick<AlertDomain, 'actions'>,
): void {
  pages.post('/projects/:id/alerts/bulk', async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Developer');
    const { id } = visit.membership.project;
    const form = formOf(request);
    const query = listQueryOf(form.text('back'));
    const list = `/projects/${id}/alerts?${searchOf(query, { page: String(query.page) })}`;
    const status = ALERT_STATUSES.find((name) => name === form.text('status'));
    const iids = [...new Set(form.getAll('iid').map(Number))].filter(
      (iid) => Number.isSafeInteger(iid) && iid > 0,
    );
    if (iids.length === 0 || status === undefined)
      return seeOther(reply, list, 'Select alerts first.', 'bad');
    if (iids.length > BULK_MAX) return seeOther(reply, list, `Select at most ${BULK_MAX} alerts.`, 'bad');
    const changes = await actions.changeStatus(id, iids, visit.user, status);
    const isWhole = changes.refused.length + changes.unknown.length + changes.failed.length === 0;
    return seeOther(reply, list, resultOf(changes, status), isWhole ? 'good' : 'bad');
  });
}

const NAMED_MAX = 5;

function resultOf({ changed, same, refused, unknown, failed }: StatusChanges, status: AlertStatus): string {
  const count = (iids: readonly number[]) => `${iids.length} ${iids.length === 1 ? 'alert' : 'alerts'}`;
  const named = (iids: readonly number[]) =>
    iids
      .slice(0, NAMED_MAX)
      .map((iid) => `#${iid}`)
      .join(', ') + (iids.length > NAMED_MAX ? ' and others' : '');
  const verb = status === 'triggered' ? 'reopened' : status;
  return [
    `${count(changed)} ${verb}.`,
    same.length > 0 && `${count(same)} already had that status.`,
    refused.length > 0 &&
      `Not changed, because another unresolved alert has the same fingerprint: ${named(refused)}.`,
    unknown.length > 0 && `Not found: ${named(unknown)}.`,
    failed.length > 0 && `Not confirmed yet: ${named(failed)}. Reload the page in a moment.`,
  ]
    .filter(Boolean)
    .join(' ');
}
