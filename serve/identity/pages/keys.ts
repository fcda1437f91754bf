import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { FieldError, faultOf } from '../../accounts/field-error.ts';
import { revokeGrant } from '../../accounts/grants.ts';
import { activeKeys, createKey, KEY_NOUNS, type KeyKind, type NewKey } from '../../accounts/keys.ts';
import { isScope } from '../../accounts/scopes.ts';
import type { User } from '../../accounts/tables.ts';
import type { Form } from '../../http/form.ts';
import { confirmation, isConfirmed } from '../../pages/confirmation.ts';
import { formCard, scopeField, secretCard, table, tags, textField, time } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { showOnce, takeSecret } from '../../pages/shown-once.ts';

interface KeyPage {
  readonly kind: KeyKind;
  readonly path: string;
  readonly title: string;
  readonly lead: string;
  readonly hasScopes: boolean;
}

const PAGES: readonly KeyPage[] = [
  {
    kind: 'key',
    path: '/profile/keys',
    title: 'API keys',
    lead: 'An API key removes the rate limit of the metrics API. It grants no other access.',
    hasScopes: false,
  },
  {
    kind: 'personal',
    path: '/profile/tokens',
    title: 'Personal access tokens',
    lead: 'Use a personal access token to authenticate scripts with the API. For Git over HTTPS, use it as the password, with the username oauth2. It also works if two-factor authentication is enabled.',
    hasScopes: true,
  },
];

/** The pages of API keys and of personal access tokens, which differ in their texts and scopes. */
export function serveKeys(pages: FastifyInstance, accounts: Accounts): void {
  for (const page of PAGES) {
    const { kind, path } = page;
    pages.get(path, async (request, reply) => {
      const user = await request.requireUser();
      const secret = await takeSecret(accounts, request, user);
      return sendKeys(accounts, reply, page, user, { secret });
    });
    pages.post(path, async (request, reply) => {
      const user = await request.requireUser();
      const form = formOf(request);
      try {
        const { text } = await createKey(accounts, user, kind, readKey(page, form));
        return await showOnce(accounts, reply, user, path, text);
      } catch (error) {
        if (!(error instanceof FieldError)) throw error;
        return sendKeys(accounts, reply, page, user, { form, error });
      }
    });
    serveRevocation(pages, accounts, page);
  }
}

const CONSEQUENCES: Readonly<Record<KeyKind, string>> = {
  key: 'Programs with this key get the limits of callers without a key. This cannot be undone.',
  personal: 'Programs with this token lose access immediately. This cannot be undone.',
};

/** Revokes only after confirmation. */
function serveRevocation(pages: FastifyInstance, accounts: Accounts, page: KeyPage): void {
  const { kind, path, hasScopes } = page;
  const noun = KEY_NOUNS[kind];
  const route = `${path}/:id/revoke`;
  interface Named {
    Params: { id: string };
  }
  const sendConfirmation = async (reply: FastifyReply, user: User, keyId: string, status: number) => {
    const key = (await activeKeys(accounts, user.id, kind)).find(({ id }) => id === keyId);
    if (key === undefined) return seeOther(reply, path, `The ${noun} was not found.`, 'bad');
    const used = await accounts.uses.lastUses([key.id]);
    const body = confirmation({
      question: `Revoke ${key.name}?`,
      facts: [
        ['Kind', noun],
        ...(hasScopes ? [['Scopes', tags(key.scopes)] as const] : []),
        ['Created', time(key.created_ms)],
        ['Last used', time(used.get(key.id) ?? 0)],
        ['Expires', time(key.access_expires_ms)],
      ],
      consequence: CONSEQUENCES[kind],
      action: `${path}/${key.id}/revoke`,
      token: await reply.formToken(),
      submit: `Revoke ${noun}`,
      back: path,
    });
    return reply.page({ title: `Revoke ${key.name}`, body, status });
  };
  pages.get<Named>(route, async (request, reply) =>
    sendConfirmation(reply, await request.requireUser(), request.params.id, 200),
  );
  pages.post<Named>(route, async (request, reply) => {
    const user = await request.requireUser();
    if (!isConfirmed(formOf(request))) return sendConfirmation(reply, user, request.params.id, 422);
    const isRevoked = await revokeGrant(
      accounts,
      request.params.id,
      (grant) => grant.user_id === user.id && grant.kind === kind,
    );
    const flash = `The ${noun} was ${isRevoked ? 'revoked' : 'not found'}.`;
    return seeOther(reply, path, flash, isRevoked ? 'good' : 'bad');
  });
}

function readKey({ hasScopes }: KeyPage, form: Form): NewKey {
  const day = form.text('expires');
  const expires_ms = day === '' ? 0 : Date.parse(`${day}T23:59:59.999Z`);
  if (Number.isNaN(expires_ms)) throw new FieldError('expires', 'Enter a date in the format YYYY-MM-DD.');
  return {
    name: form.text('name'),
    scopes: hasScopes ? form.getAll('scopes').filter(isScope) : [],
    expires_ms,
  };
}

interface CreateResult {
  readonly secret?: string | null;
  readonly form?: Form;
  readonly error?: FieldError;
}

async function sendKeys(
  accounts: Accounts,
  reply: FastifyReply,
  { kind, path, title, lead, hasScopes }: KeyPage,
  user: User,
  { secret, form, error }: CreateResult = {},
): Promise<FastifyReply> {
  const noun = KEY_NOUNS[kind];
  const token = await reply.formToken();
  const keys = await activeKeys(accounts, user.id, kind);
  const used = await accounts.uses.lastUses(keys.map(({ id }) => id));
  const body = html`<h1>${title}</h1><p class="lead">${lead}</p>
${secret && secretCard(`Your new ${noun}`, secret)}
${table({
  caption: title,
  head: ['Name', ...(hasScopes ? ['Scopes'] : []), 'Created', 'Last used', 'Expires', ''],
  rows: keys.map((key) => [
    html`${key.name}`,
    ...(hasScopes ? [tags(key.scopes)] : []),
    time(key.created_ms),
    time(used.get(key.id) ?? 0),
    time(key.access_expires_ms),
    html`<a class="button danger small" href="${path}/${key.id}/revoke" aria-label="Revoke ${key.name}">Revoke</a>`,
  ]),
  empty: `You have no ${noun}s.`,
})}
${formCard({
  title: `New ${noun}`,
  action: path,
  token,
  fields: html`${textField({ name: 'name', label: 'Name', value: form?.text('name'), hint: 'For example, the application that uses it.', fault: faultOf(error, 'name') })}
${textField({ name: 'expires', label: 'Expiration date (optional)', type: 'date', value: form?.text('expires'), required: false, fault: faultOf(error, 'expires') })}
${hasScopes && scopeField(form?.getAll('scopes') ?? [], faultOf(error, 'scopes'))}`,
  submit: `Create ${noun}`,
})}`;
  const status = error === undefined ? 200 : 422;
  return reply.page({ title, body, script: 'copy.js', status });
}
