import { randomBytes } from 'node:crypto';
import { sql } from '../../../infra/sql.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { FieldError } from '../../accounts/field-error.ts';
import { registeredApplication, remainingScopes, revokeGrant } from '../../accounts/grants.ts';
import { createWithinLimit } from '../../accounts/limits.ts';
import { displayName, isOneAlphabet } from '../../accounts/names.ts';
import { isScope } from '../../accounts/scopes.ts';
import { hashSecret, newSecret } from '../../accounts/secrets.ts';
import type { Application, Grant, User } from '../../accounts/tables.ts';
import { SIGNING_ALGS } from '../openid/signing-keys.ts';
import { redirectUriFault } from './redirect-uri.ts';

/** The prefix by which people and secret scanners recognize a client secret. */
const SECRET_PREFIX = 'cms_';
const NAME_CHARACTERS_MAX = 60;
const REDIRECT_URIS_MAX = 10;

interface NewApplication {
  readonly name: string;
  /** One URI per line. */
  readonly redirect_uris: string;
  readonly post_logout_redirect_uris: string;
  readonly id_token_alg: string;
  readonly scopes: readonly string[];
  readonly is_confidential: boolean;
}

/** Applications per account. */
const APPLICATIONS_MAX = 50;

/** Creates an application. Only the hash of the secret is stored; public applications have no secret. */
export async function createApplication(
  accounts: Accounts,
  { id: owner_id }: User,
  given: NewApplication,
): Promise<{ readonly application: Application; readonly secret: string | null }> {
  const fields = validate(accounts, given);
  const secret = given.is_confidential ? SECRET_PREFIX + newSecret() : null;
  const rule = {
    count: async () => (await applicationsOf(accounts, owner_id)).length,
    limit: APPLICATIONS_MAX,
    message: `You have reached the limit of ${APPLICATIONS_MAX} applications. Delete one first.`,
  };
  return createWithinLimit(accounts, `applications/${owner_id}`, rule, async (lease) => {
    const application = {
      id: randomBytes(32).toString('hex'),
      expires_ms: 0,
      owner_id,
      ...fields,
      is_confidential: given.is_confidential,
      secret_hash: secret === null ? '' : hashSecret(secret),
      created_ms: accounts.clock.now(),
      revoked_ms: 0,
      blocked_ms: 0,
    };
    await lease.ensure();
    await accounts.applications.add(application);
    return { application: { ...application, version: 1 }, secret };
  });
}

/** Changes the settings. Whether an application is confidential cannot be changed. */
export async function updateApplication(
  accounts: Accounts,
  owner: User,
  id: string,
  given: Omit<NewApplication, 'is_confidential'>,
): Promise<void> {
  const fields = validate(accounts, given);
  await changeOwn(accounts, owner, id, (application) => ({ ...application, ...fields }));
}

/** Replaces the client secret, and invalidates the old secret; null for a public application. */
export async function renewSecret(accounts: Accounts, owner: User, id: string): Promise<string | null> {
  const secret = SECRET_PREFIX + newSecret();
  const changed = await changeOwn(accounts, owner, id, (application) =>
    application.is_confidential ? { ...application, secret_hash: hashSecret(secret) } : null,
  );
  return changed ? secret : null;
}

/** Deletes an application and invalidates all its tokens. */
export async function deleteApplication(accounts: Accounts, owner: User, id: string): Promise<boolean> {
  const now = accounts.clock.now();
  return changeOwn(accounts, owner, id, (application) => ({ ...application, revoked_ms: now }));
}

export function applicationsOf({ applications }: Accounts, owner_id: string): Promise<Application[]> {
  return applications.find(sql`owner_id = ${owner_id} AND revoked_ms = 0`, 'created_ms DESC, id');
}

/** An application that a user has authorized. */
interface AuthorizedApplication {
  readonly application: Application;
  readonly scopes: readonly string[];
  readonly since_ms: number;
  readonly grants: readonly Grant[];
}

export async function authorizedApplications(
  accounts: Accounts,
  { id: user_id, password_changed_ms }: User,
): Promise<AuthorizedApplication[]> {
  const active = await accounts.grants.find(
    sql`user_id = ${user_id} AND application_id != '' AND revoked_ms = 0
      AND NOT (kind = 'password' AND created_ms <= ${password_changed_ms})
      AND greatest(access_expires_ms, refresh_expires_ms) > ${accounts.clock.now()}`,
    'created_ms, id',
    10_000,
  );
  const byApplication = Map.groupBy(active, (grant) => grant.application_id);
  const found = await Promise.all(
    [...byApplication].map(async ([id, grants]) => {
      const application = await registeredApplication(accounts, id);
      if (application === null) return [];
      const scopes = remainingScopes([...new Set(grants.flatMap((grant) => grant.scopes))], application);
      return [{ application, scopes, since_ms: grants[0]?.created_ms ?? 0, grants }];
    }),
  );
  return found.flat();
}

/** Revokes all grants of a user to an application. */
export async function revokeAuthorization(
  accounts: Accounts,
  user: User,
  application_id: string,
): Promise<void> {
  const granted = await accounts.grants.find(
    sql`user_id = ${user.id} AND application_id = ${application_id} AND revoked_ms = 0`,
    'id',
    10_000,
  );
  await Promise.all(granted.map(({ id }) => revokeGrant(accounts, id, (grant) => grant.user_id === user.id)));
}

function changeOwn(
  { applications }: Accounts,
  owner: User,
  id: string,
  change: (application: Application) => Application | null,
): Promise<boolean> {
  return applications.change(id, (application) => {
    const isOwn = application !== null && application.owner_id === owner.id && application.revoked_ms === 0;
    const next = isOwn ? change(application) : null;
    return next === null ? { result: false } : { next, result: true };
  });
}

function validate({ settings }: Accounts, given: Omit<NewApplication, 'is_confidential'>) {
  const rules = { insecure: settings.OAUTH_INSECURE_REDIRECTS };
  const name = applicationName(given.name);
  const redirect_uris = redirectUris(given, 'redirect_uris', rules);
  if (redirect_uris.length === 0) throw new FieldError('redirect_uris', 'Enter at least one redirect URI.');
  const post_logout_redirect_uris = redirectUris(given, 'post_logout_redirect_uris', rules);
  const id_token_alg = SIGNING_ALGS.find((alg) => alg === given.id_token_alg);
  if (id_token_alg === undefined) {
    throw new FieldError('id_token_alg', `Select one of ${SIGNING_ALGS.join(' and ')}.`);
  }
  const scopes = [...new Set(given.scopes)].filter(isScope);
  if (scopes.length === 0) throw new FieldError('scopes', 'Select at least one scope.');
  return { name, redirect_uris, post_logout_redirect_uris, id_token_alg, scopes };
}

/** The URIs of a field with one URI per line. */
function redirectUris(
  given: Pick<NewApplication, 'redirect_uris' | 'post_logout_redirect_uris'>,
  field: 'redirect_uris' | 'post_logout_redirect_uris',
  rules: { readonly insecure: boolean },
): string[] {
  const lines = given[field].split(/\r?\n/).map((line) => line.trim());
  const uris = [...new Set(lines)].filter((line) => line !== '');
  if (uris.length > REDIRECT_URIS_MAX) {
    throw new FieldError(field, `Enter at most ${REDIRECT_URIS_MAX} redirect URIs.`);
  }
  for (const [i, uri] of uris.entries()) {
    const fault = redirectUriFault(uri, rules);
    if (fault) throw new FieldError(field, `Redirect URI ${i + 1} ${fault}.`);
  }
  return uris;
}

/** Users authorize an application by its name, so it must not look like another one. */
function applicationName(given: string): string {
  const name = displayName(given, NAME_CHARACTERS_MAX);
  if (name === '') throw new FieldError('name', 'Enter a name.');
  if (/\p{M}{3}/u.test(name)) {
    throw new FieldError('name', 'Use only letters, digits, spaces and punctuation.');
  }
  if (!isOneAlphabet(name)) throw new FieldError('name', 'Use letters of a single alphabet.');
  // Accents, a dotless i and characters between the letters do not make it another name.
  const letters = name
    .normalize('NFKD')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
  if (letters.includes('CHAINMETRICS')) {
    throw new FieldError('name', 'The name must not contain Chain Metrics.');
  }
  return name;
}
