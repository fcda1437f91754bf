import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Confirmation, confirmation, isConfirmed } from '../../pages/confirmation.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { type ProjectRole, RequestRefused } from '../model/access.ts';
import type { ProjectFrame, ProjectPage, Visit } from './frame.ts';

type Question = Pick<Confirmation, 'question' | 'facts' | 'consequence' | 'submit' | 'name'> & {
  /** The page of the item, one level above this one. */
  readonly back: string;
  /** Hidden fields of the form. */
  readonly fields?: Html;
};

interface ConfirmationPage<Item> {
  /** Path of the page. Its last segment, below `back`, is the action of the form. */
  readonly path: string;
  readonly tab: ProjectPage['tab'];
  readonly role?: ProjectRole;
  /** Finds the item in the URL. */
  readonly find: (request: FastifyRequest, visit: Visit) => Promise<Item>;
  readonly questionOf: (item: Item, visit: Visit) => Question | Promise<Question>;
  /** Runs the action and sends the next page. On a `RequestRefused` the page asks again, with the reason. */
  readonly execute: (item: Item, visit: Visit, reply: FastifyReply) => Promise<FastifyReply>;
}

/** Serves a page that asks for confirmation before an item is deleted or reset, and its form. */
export function serveConfirmationPage<Item>(
  pages: FastifyInstance,
  frame: ProjectFrame,
  { path, tab, role = 'Maintainer', find, questionOf, execute }: ConfirmationPage<Item>,
): void {
  const ask = async (reply: FastifyReply, visit: Visit, item: Item, refusal: Refusal = {}) => {
    const { back, fields, ...words } = await questionOf(item, visit);
    const { text, fault = null, status = 200 } = refusal;
    const body = html`${text && html`<p class="note bad" role="alert">${text}</p>`}${confirmation({
      ...words,
      ...{ back, fault, token: html`${visit.token}${fields}` },
      action: `${back}/${path.split('/').at(-1)}`,
    })}`;
    return frame.send(reply, visit, { tab, title: words.submit, body, status });
  };
  pages.get(path, async (request, reply) => {
    const visit = await frame.visit(request, reply, role);
    return ask(reply, visit, await find(request, visit));
  });
  pages.post(path, async (request, reply) => {
    const visit = await frame.visit(request, reply, role);
    const item = await find(request, visit);
    const { name } = await questionOf(item, visit);
    if (!isConfirmed(formOf(request), name))
      return ask(reply, visit, item, { fault: 'Type the name to confirm.', status: 422 });
    try {
      return await execute(item, visit, reply);
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.status === 404) throw error;
      return ask(reply, visit, item, { text: error.message, status: 422 });
    }
  });
}

interface Refusal {
  /** Why the action was refused. */
  readonly text?: string;
  /** The fault of the typed name. */
  readonly fault?: string;
  readonly status?: number;
}
