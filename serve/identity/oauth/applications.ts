import { randomBytes } from 'node:crypto';
import { sql } from '../../../infra/clickhouse/sql.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { revokeGrant } from '../accounts/grants.ts';
import { isScope } from '../accounts/scopes.ts';
import { hashSecret, newSecret } from '../accounts/secrets.ts';
import type { Application, Grant, User } from '../accounts/tables.ts';
import { redirectUriFault } from './redirect-uri.ts';

/** Secret scanners and people know a client secret by how it begins. */
const SECRET_PREFIX = 'cms_';
const NAME_CHARACTERS_MAX = 60;
export const REDIRECT_URIS_MAX = 10;

/** What is wrong with an application that somebody wants to register, by field. */
export class ApplicationError extends Error {
  readonly field: 'name' | 'redirect_uris' | 'scopes';
  constructor(field: ApplicationError['field'], publicText: string) {
    super(publicText);
    this.field = field;
  }
}

export interface NewApplication {
  readonly name: string;
  /** One address a line. */
  readonly redirect_uris: string;
  readonly scopes: readonly string[];
  readonly is_confidential: boolean;
}

/** Registers an application. The secret is returned this once; public applications have none. */
export async function register(
  accounts: Accounts,
  { id: owner_id }: User,
  given: NewApplication,
): Promise<{ readonly application: Application; readonly secret: string | null }> {
  const described = describe(accounts, given);
  const secret = given.is_confidential ? SECRET_PREFIX + newSecret() : null;
  return accounts.locks.run(`applications/${owner_id}`, async (lease) => {
    const most = accounts.settings.APPLICATIONS_PER_ACCOUNT;
    if ((await applicationsOf(accounts, owner_id)).length >= most) {
      throw new ApplicationError(
        'name',
        `You have registered ${most} applications already. Remove one first.`,
      );
    }
    const application = {
      id: randomBytes(32).toString('hex'),
      expires_ms: 0,
      owner_id,
      ...described,
      is_confidential: given.is_confidential,
      secret_hash: secret === null ? '' : hashSecret(secret),
      created_ms: accounts.clock.now(),
      revoked_ms: 0,
    };
    await lease.ensure();
    await accounts.applications.add(application);
    return { application: { ...application, version: 1 }, secret };
  });
}

/** Changes what an application may do and where it lives. Its kind stays: it decides how it proves itself. */
export async function describeAnew(
  accounts: Accounts,
  owner: User,
  id: string,
  given: Omit<NewApplication, 'is_confidential'>,
): Promise<void> {
  const described = describe(accounts, given);
  await changeOwn(accounts, owner, id, (application) => ({ ...application, ...described }));
}

/** A new secret in place of the old one, which is dead at once; null when the application has none to renew. */
export async function renewSecret(accounts: Accounts, owner: User, id: string): Promise<string | null> {
  const secret = SECRET_PREFIX + newSecret();
  const changed = await changeOwn(accounts, owner, id, (application) =>
    application.is_confidential ? { ...application, secret_hash: hashSecret(secret) } : null,
  );
  return changed ? secret : null;
}

/** Ends an application and with it every token that it was given. */
export async function remove(accounts: Accounts, owner: User, id: string): Promise<boolean> {
  const now = accounts.clock.now();
  return changeOwn(accounts, owner, id, (application) => ({ ...application, revoked_ms: now }));
}

export function applicationsOf(accounts: Accounts, owner_id: string): Promise<Application[]> {
  return accounts.applications.find(sql`owner_id = ${owner_id} AND revoked_ms = 0`, 'created_ms DESC, id');
}

/** Applications that a user lets in, with what they may do and since when. */
export interface Authorized {
  readonly application: Application;
  readonly scopes: readonly string[];
  readonly since_ms: number;
  readonly grants: readonly Grant[];
}

export async function authorizedBy(accounts: Accounts, user_id: string): Promise<Authorized[]> {
  const live = await accounts.grants.find(
    sql`user_id = ${user_id} AND application_id != '' AND revoked_ms = 0
      AND greatest(access_expires_ms, refresh_expires_ms) > ${accounts.clock.now()}`,
    'created_ms, id',
    10_000,
  );
  const byApplication = Map.groupBy(live, (grant) => grant.application_id);
  const found = await Promise.all(
    [...byApplication].map(async ([id, grants]) => {
      const application = await accounts.applications.get(id);
      if (application === null || application.revoked_ms > 0) return [];
      const scopes = [...new Set(grants.flatMap((grant) => grant.scopes))];
      return [{ application, scopes, since_ms: grants[0]?.created_ms ?? 0, grants }];
    }),
  );
  return found.flat();
}

/** Takes back everything that a user gave an application. */
export async function withdraw(accounts: Accounts, user: User, application_id: string): Promise<void> {
  const given = await accounts.grants.find(
    sql`user_id = ${user.id} AND application_id = ${application_id} AND revoked_ms = 0`,
    'id',
    10_000,
  );
  await Promise.all(given.map(({ id }) => revokeGrant(accounts, id, (grant) => grant.user_id === user.id)));
}

function changeOwn(
  accounts: Accounts,
  owner: User,
  id: string,
  change: (application: Application) => Application | null,
): Promise<boolean> {
  return accounts.applications.change(id, (application) => {
    const isTheirs =
      application !== null && application.owner_id === owner.id && application.revoked_ms === 0;
    const next = isTheirs ? change(application) : null;
    return next === null ? { result: false } : { next, result: true };
  });
}

function describe({ settings }: Accounts, given: Omit<NewApplication, 'is_confidential'>) {
  const name = applicationName(given.name);
  const redirect_uris = [...new Set(given.redirect_uris.split(/\r?\n/).map((line) => line.trim()))].filter(
    (line) => line !== '',
  );
  if (redirect_uris.length === 0) throw new ApplicationError('redirect_uris', 'Write at least one address.');
  if (redirect_uris.length > REDIRECT_URIS_MAX) {
    throw new ApplicationError('redirect_uris', `Write at most ${REDIRECT_URIS_MAX} addresses.`);
  }
  for (const [i, uri] of redirect_uris.entries()) {
    const fault = redirectUriFault(uri, { insecure: settings.OAUTH_INSECURE_REDIRECTS });
    if (fault) throw new ApplicationError('redirect_uris', `Address ${i + 1} ${fault}.`);
  }
  const scopes = [...new Set(given.scopes)].filter(isScope);
  if (scopes.length === 0) throw new ApplicationError('scopes', 'Choose at least one scope.');
  return { name, redirect_uris, scopes };
}

/** People decide by the name, so it must not read like another one. */
function applicationName(given: string): string {
  const name = given.normalize('NFKC').trim().replace(/ +/g, ' ');
  if (name === '') throw new ApplicationError('name', 'Give the application a name.');
  if ([...name].length > NAME_CHARACTERS_MAX) {
    throw new ApplicationError('name', `Use at most ${NAME_CHARACTERS_MAX} characters.`);
  }
  if (/[\p{C}\p{Zl}\p{Zp}]|\p{M}{3}/u.test(name)) {
    throw new ApplicationError('name', 'Use letters, digits, spaces and punctuation only.');
  }
  // A word of Latin letters with a Cyrillic or Greek one among them is made to be mistaken for another.
  const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u];
  if (scripts.filter((script) => script.test(name)).length > 1) {
    throw new ApplicationError('name', 'Write the name in one alphabet: letters of several look alike.');
  }
  if (/chain\s*metrics/i.test(name)) {
    throw new ApplicationError('name', 'Choose a name that does not pass for this service.');
  }
  return name;
}
