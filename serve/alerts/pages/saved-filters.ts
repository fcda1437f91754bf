import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { RequestRefused } from '../model/access.ts';
import type { SavedFilter } from '../model/tables.ts';
import type { FilterOwner } from '../projects/saved-filters.ts';
import type { ProjectFrame, Visit } from './frame.ts';
import { type ListQuery, listQueryOf, searchOf } from './list-query.ts';

const PATH = '/projects/:id/alerts/filters';

/** A filter that was not saved, and why. */
interface RefusedFilter {
  readonly name: string;
  readonly isDefault: boolean;
  readonly fault: string;
}

interface FilterBar {
  readonly query: ListQuery;
  readonly saved: readonly SavedFilter[];
  readonly token: Html;
  readonly refused: RefusedFilter | undefined;
}

/** The saved filters of the user, and the form that saves the current one. */
export function filterBar(project: string, { query, saved, token, refused }: FilterBar): Html {
  const here = searchOf(query);
  const base = `/projects/${project}/alerts`;
  const one = ({ name, search, is_default }: SavedFilter) => html`<li>
<a class="chip${search === here && html` set`}" href="${base}?${search}"${search === here && html` aria-current="page"`}>${is_default && html`<span title="The list opens with it">★</span> `}${name}</a></li>`;
  const row = ({
    id,
    name,
    is_default,
  }: SavedFilter) => html`<li><b>${name}</b><form method="post" action="${base}/filters/${id}">${token}<input type="hidden" name="back" value="${here}">
<button class="plain" name="do" value="${is_default ? 'not-default' : 'default'}" aria-label="${is_default ? `Do not open with ${name}` : `Open with ${name}`}">${is_default ? 'Do not open with it' : 'Open with it'}</button>
<button class="plain" name="do" value="delete" aria-label="Delete the filter ${name}">Delete</button></form></li>`;
  return html`<div class="saved"><ul class="chips" aria-label="Saved filters"><li><a class="chip" href="${base}?status=open">All open</a></li>${saved.map(one)}</ul>
<details${refused && html` open`}><summary>${saved.length === 0 ? 'Save this filter' : 'Save or edit filters'}</summary><div class="card">
<form method="post" action="${base}/filters">${token}<input type="hidden" name="back" value="${here}">
${textField({ name: 'name', id: 'filter-name', label: 'Name of this filter', hint: 'A saved filter with the same name is replaced.', value: refused?.name, fault: refused?.fault })}
<label class="choice"><input type="checkbox" name="default" value="on"${refused?.isDefault && html` checked`}><div><b>Open the list with it</b></div></label>
<button class="second">Save filter</button></form>
${saved.length > 0 && html`<ul class="rows">${saved.map(row)}</ul>`}</div></details></div>`;
}

/** Sends the list of alerts. A refused filter is shown in its form again. */
export type SendList = (
  reply: FastifyReply,
  visit: Visit,
  shown: { readonly query: ListQuery; readonly refused?: RefusedFilter },
) => Promise<FastifyReply>;

/** The actions on the saved filters of a user. */
export function serveSavedFilters(
  pages: FastifyInstance,
  frame: ProjectFrame,
  { savedFilters }: Pick<AlertDomain, 'savedFilters'>,
  sendList: SendList,
): void {
  const action = (path: string, work: (owner: FilterOwner, request: FastifyRequest) => Promise<string>) =>
    pages.post(path, async (request, reply) => {
      const visit: Visit = await frame.visit(request, reply, 'Developer');
      const { id } = visit.membership.project;
      const list = `/projects/${id}/alerts?${searchOf(listQueryOf(formOf(request).text('back')))}`;
      try {
        return seeOther(reply, list, await work({ project: id, user: visit.user.id }, request));
      } catch (error) {
        if (!(error instanceof RequestRefused) || error.status === 404) throw error;
        if (path !== PATH) return seeOther(reply, list, error.message, 'bad');
        const form = formOf(request);
        const refused = { name: form.text('name'), isDefault: form.has('default'), fault: error.message };
        return sendList(reply, visit, { query: listQueryOf(form.text('back')), refused });
      }
    });
  action(PATH, async (owner, request) => {
    const form = formOf(request);
    const search = searchOf(listQueryOf(form.text('back')));
    await savedFilters.save(owner, { name: form.text('name'), search, isDefault: form.has('default') });
    return 'Filter saved.';
  });
  action(`${PATH}/:filter`, async (owner, request) => {
    const { filter } = request.params as { filter: string };
    const wanted = formOf(request).text('do');
    if (wanted === 'delete') {
      await savedFilters.delete(owner, filter);
      return 'Filter deleted.';
    }
    await savedFilters.setDefault(owner, filter, wanted === 'default');
    return wanted === 'default' ? 'The list opens with this filter.' : 'The list opens without a filter.';
  });
}
