import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Form } from '../../http/form.ts';
import { button, scopeField, shownOnce, table, tags, textField, time } from '../../http/pages/fields.ts';
import { formOf, formToken } from '../../http/pages/forms.ts';
import { html } from '../../http/pages/html.ts';
import { seeOther, sendPage } from '../../http/pages/page.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { revokeGrant } from '../accounts/grants.ts';
import { createKey, KeyError, liveKeys, type NewKey } from '../accounts/keys.ts';
import { AccountError } from '../accounts/people.ts';
import { isScope, SCOPE_NAMES } from '../accounts/scopes.ts';
import { requireUser } from '../accounts/sessions.ts';
import type { User } from '../accounts/tables.ts';

interface Kind {
  readonly kind: 'key' | 'personal';
  readonly path: string;
  readonly title: string;
  readonly noun: string;
  readonly lead: string;
  readonly hasScopes: boolean;
}

const KINDS: readonly Kind[] = [
  {
    kind: 'key',
    path: '/profile/keys',
    title: 'API keys',
    noun: 'API key',
    lead: 'A key lifts the rate limit of the metrics API. It opens nothing else, so a lost one does no harm beyond that.',
    hasScopes: false,
  },
  {
    kind: 'personal',
    path: '/profile/tokens',
    title: 'Personal access tokens',
    noun: 'access token',
    lead: 'A token stands for you in scripts and, as the password of the user oauth2, in Git over HTTPS. It works with two-factor authentication too.',
    hasScopes: true,
  },
];

/** Pages of API keys and of personal access tokens: the same but for scopes and words. */
export function serveKeys(pages: FastifyInstance, accounts: Accounts): void {
  for (const kind of KINDS) {
    pages.get(kind.path, async (request, reply) => {
      const user = await requireUser(accounts, request);
      return sendKeys(accounts, request, reply, kind, user);
    });
    pages.post(kind.path, async (request, reply) => {
      const user = await requireUser(accounts, request);
      const form = formOf(request);
      try {
        const { text } = await createKey(accounts, user, kind.kind, wanted(kind, form));
        return await sendKeys(accounts, request, reply, kind, user, { secret: text });
      } catch (error) {
        if (!(error instanceof KeyError || error instanceof AccountError)) throw error;
        return sendKeys(accounts, request, reply, kind, user, { form, error });
      }
    });
    pages.post<{ Params: { id: string } }>(`${kind.path}/:id/revoke`, async (request, reply) => {
      const user = await requireUser(accounts, request);
      const isDone = await revokeGrant(
        accounts,
        request.params.id,
        (grant) => grant.user_id === user.id && grant.kind === kind.kind,
      );
      const note = isDone
        ? `The ${kind.noun} is revoked and works no more.`
        : `There is no such ${kind.noun}.`;
      return seeOther(reply, kind.path, note, isDone ? 'good' : 'bad');
    });
  }
}

function wanted({ hasScopes }: Kind, form: Form): NewKey {
  const day = form.text('expires');
  const expires_ms = day === '' ? 0 : Date.parse(`${day}T23:59:59.999Z`);
  if (Number.isNaN(expires_ms)) throw new KeyError('expires', 'Write a day such as 2030-12-31.');
  return {
    name: form.text('name'),
    scopes: hasScopes ? form.getAll('scopes').filter(isScope) : [],
    expires_ms,
  };
}

interface Told {
  readonly secret?: string;
  readonly form?: Form;
  readonly error?: KeyError | AccountError;
}

async function sendKeys(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  { kind, path, title, noun, lead, hasScopes }: Kind,
  user: User,
  { secret, form, error }: Told = {},
): Promise<FastifyReply> {
  const token = await formToken(accounts, request, reply);
  const keys = await liveKeys(accounts, user.id, kind);
  const used = await accounts.uses.lastOf(keys.map(({ id }) => id));
  const faultOf = (field: string) => (error?.field === field ? error.message : null);
  const body = html`<h1>${title}</h1><p class="lead">${lead}</p>
${secret && shownOnce(`Your new ${noun}`, secret)}
${table({
  caption: title,
  head: ['Name', ...(hasScopes ? ['Scopes'] : []), 'Created', 'Last used', 'Expires', ''],
  rows: keys.map((key) => [
    html`${key.name}`,
    ...(hasScopes ? [tags(key.scopes)] : []),
    time(key.created_ms),
    time(used.get(key.id) ?? 0),
    time(key.access_expires_ms),
    button(`${path}/${key.id}/revoke`, token, 'Revoke', `Revoke ${key.name}`),
  ]),
  empty: `You have no ${noun} yet.`,
})}
<section class="card"><h2>New ${noun}</h2><form method="post" action="${path}">${token}
${textField({ name: 'name', label: 'Name', value: form?.text('name'), hint: 'What it is for, such as the program that will use it.', fault: faultOf('name') })}
${textField({ name: 'expires', label: 'Last day (optional)', type: 'date', value: form?.text('expires'), required: false, fault: faultOf('expires') })}
${hasScopes && scopeField(SCOPE_NAMES, form?.getAll('scopes') ?? [], 'Scopes', faultOf('scopes'))}
<button>Create ${noun}</button></form></section>`;
  return sendPage(accounts, request, reply, { title, body, status: error === undefined ? 200 : 422 });
}
