import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Secret, TOTP } from 'otpauth';
import { expect, test } from 'vitest';
import { DATABASE, ident, sql } from '../../../../infra/sql.ts';
import { openPipeline } from '../../../../serve/application/compose/compose.ts';
import { readConfig } from '../../../../serve/settings/settings.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { hiddenFields, plain } from '../../accounts/browser.ts';
import { run, type Server, serve } from '../../application/cli/program.ts';

const PASSWORD = 'planted-password-4711 quiet';
const WRONG = 'planted-wrong-password-4712';
const CALLBACK = 'https://client.example/callback';

/** Addresses that people and programs send a secret to by mistake. */
const MISPLACED = [
  '/oauth/token?client_secret=SECRET',
  '/oauth/token/info?access_token=SECRET',
  '/oauth/authorize?client_id=a&client_secret=SECRET',
  '/api/daily-tps?access_token=SECRET',
  '/api/daily-tps?access_token=SECRET&access_token=SECRET',
  '/api/daily-tps?token=SECRET&api_key=SECRET&chain=SECRET',
  '/api/daily-tps?SECRET',
  '/api/v4/user?private_token=SECRET',
  '/api/v4/projects/SECRET/alerts?token=SECRET',
  '/sign-in?login=ada&password=SECRET',
  '/profile?code=SECRET&next=/SECRET',
  '/?token=SECRET',
  '/alerts/SECRET/notify.json?key=SECRET',
  '/nowhere/SECRET?token=SECRET',
  '/reset-password?link=SECRET',
  '/confirm-email?link=SECRET',
  '/%zz?token=SECRET',
  '/health/ready?token=SECRET',
];

/** Sends a request that is none, with a secret in its head. */
async function malformed({ url }: Server, secret: string): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.end(`GET /?token=${secret} HTTP/1.1\r\nAuthorization: Bearer ${secret}\r\nno header\r\n\r\n`);
  await text(socket);
}

/** A browser over real HTTP, with its cookies. */
class Visitor {
  readonly #server: Server;
  readonly cookies = new Map<string, string>();
  constructor(server: Server) {
    this.#server = server;
  }
  async send(
    path: string,
    fields?: Record<string, string>,
  ): Promise<{ body: string; location: string | null }> {
    const answer = await fetch(this.#server.url + path, {
      redirect: 'manual',
      headers: { cookie: [...this.cookies].map((pair) => pair.join('=')).join('; ') },
      ...(fields === undefined ? {} : { method: 'POST', body: new URLSearchParams(fields) }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.cookies.set(name, value);
    }
    return { body: await answer.text(), location: answer.headers.get('location') };
  }
  async submit(page: string, action: string, fields: Record<string, string>) {
    const { body } = await this.send(page);
    return this.send(action, { ...hiddenFields(body, action), ...fields });
  }
  /** Submits a form and opens the page that its answer leads to. */
  async submitAndFollow(page: string, action: string, fields: Record<string, string>) {
    const { location } = await this.submit(page, action, fields);
    return this.send(location ?? '/');
  }
}

test('logs, errors, dead letters and tables contain no secret', async () => {
  using directory = temporaryDirectory();
  const env = { DATA_DIR: directory.path, LOG_LEVEL: 'debug' };
  const server = await serve([], env);
  const secrets = new Map<string, string>([
    ['password', PASSWORD],
    ['wrong password', WRONG],
  ]);
  const plant = (name: string, value: string | null | undefined) => {
    expect(value, name).toBeTruthy();
    secrets.set(name, value as string);
    return value as string;
  };

  const visitor = new Visitor(server);
  await visitor.submit('/sign-up', '/sign-up', { username: 'ada', email: '', password: PASSWORD });
  await new Visitor(server).submit('/sign-in', '/sign-in', { login: 'ada', password: WRONG });
  await visitor.submit('/sign-in?next=/profile', '/sign-in', { login: 'ada', password: PASSWORD });
  plant('session', visitor.cookies.get('session'));

  const application = await visitor.submitAndFollow('/profile/applications', '/profile/applications', {
    name: 'A',
    redirect_uris: CALLBACK,
    scopes: 'openid',
    kind: 'confidential',
  });
  const client_secret = plant('client secret', /id="secret">([^<]+)</.exec(application.body)?.[1]);
  const client_id = /id="client-id">([^<]+)</.exec(application.body)?.[1] ?? '';
  plant(
    'API key',
    /id="secret">([^<]+)</.exec(
      (await visitor.submitAndFollow('/profile/keys', '/profile/keys', { name: 'k' })).body,
    )?.[1],
  );
  plant(
    'personal access token',
    /id="secret">([^<]+)</.exec(
      (await visitor.submitAndFollow('/profile/tokens', '/profile/tokens', { name: 't', scopes: 'api' }))
        .body,
    )?.[1],
  );

  const query = new URLSearchParams({
    client_id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: 'openid',
  });
  const consent = await visitor.submit(`/oauth/authorize?${query}`, '/oauth/authorize', {
    decision: 'allow',
  });
  const code = plant('code', new URL(consent.location ?? '').searchParams.get('code'));
  const post = async (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    (
      await fetch(server.url + path, { method: 'POST', body: new URLSearchParams(fields), headers })
    ).json() as Promise<Record<string, string>>;
  const client = { client_id, client_secret };
  const pair = await post('/oauth/token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: CALLBACK,
    ...client,
  });
  plant('ID token', pair.id_token);
  plant('access token', pair.access_token);
  plant('refresh token', pair.refresh_token);
  const next = await post('/oauth/token', {
    grant_type: 'refresh_token',
    refresh_token: pair.refresh_token ?? '',
    ...client,
  });
  plant('next access token', next.access_token);
  plant('next refresh token', next.refresh_token);

  // Secrets in wrong places.
  for (const [name, value] of [...secrets]) {
    const encoded = encodeURIComponent(value);
    for (const address of MISPLACED) await fetch(server.url + address.replaceAll('SECRET', encoded));
    await malformed(server, value);
    await fetch(`${server.url}/api/v4/user`, { headers: { authorization: `Bearer ${encoded}` } });
    await fetch(`${server.url}/oauth/git`, {
      headers: { authorization: `Basic ${Buffer.from(`oauth2:${value}`).toString('base64')}` },
    });
    await post('/oauth/token', { grant_type: value, username: 'ada', password: value });
    await post('/oauth/token', { grant_type: 'password', username: name, password: value });
    await post('/oauth/revoke', { ...client, client_secret: `${value}x`, token: value });
  }

  const page = await visitor.send('/profile/security/two-factor');
  const totp = plant('two-factor secret', /id="totp-secret">([A-Z2-7]+)</.exec(page.body)?.[1]);
  const on = await visitor.submitAndFollow('/profile/security/two-factor', '/profile/security/two-factor', {
    setup: plain(/name="setup" value="([^"]+)"/.exec(page.body)?.[1] ?? ''),
    code: new TOTP({ secret: Secret.fromBase32(totp) }).generate(),
  });
  // The submitted page offered another secret than the signed one, which is the one that counts.
  const recovery = plant('recovery code', /<li>([a-z2-9]{5}(?:-[a-z2-9]{5}){3})<\/li>/.exec(on.body)?.[1]);
  secrets.set('recovery code in one', recovery.replaceAll('-', ''));

  await server.end('SIGTERM');
  const status = await run(['users', 'list', '--json'], { env });
  const places = new Map([
    ['log', server.logged()],
    ['terminal', server.said()],
    ['command line', status.stdout + status.stderr],
  ]);
  const { tables, privateKeys } = await stored(directory.path);
  for (const [table, rows] of tables) places.set(`table ${table}`, rows);
  for (const [name, value] of privateKeys) plant(name, value);
  for (const file of filesUnder(directory.path)) places.set(file, readFileSync(file, 'latin1'));
  const found = [...places].flatMap(([place, content]) =>
    [...secrets].filter(([, value]) => isIn(content, value)).map(([name]) => `${name} in ${place}`),
  );
  expect(found).toEqual([]);
  expect(places.get('table grants')).toContain(client_id);
  expect(places.get('log')).toContain('/oauth/token');
});

/** Whether a text holds a secret: as it is, encoded for an address, or as the bytes of a buffer. */
const isIn = (content: string, secret: string): boolean =>
  [secret, encodeURIComponent(secret), [...Buffer.from(secret)].join()].some((form) =>
    content.includes(form),
  );

/** All rows of all tables, and the numbers of the private keys that they hold encrypted. */
async function stored(directory: string) {
  const pipeline = await openPipeline(readConfig({ DATA_DIR: directory, LOG_LEVEL: 'error' }));
  const { store } = pipeline.runtime;
  const tables = await store.rows<{ name: string }>(
    sql`SELECT name FROM system.tables WHERE database = ${DATABASE} AND engine LIKE '%MergeTree'`,
  );
  const found: [string, string][] = [];
  for (const { name } of tables) {
    const rows = await store.bytes(sql`SELECT * FROM ${ident(DATABASE)}.${ident(name)}`, 'NDJSON');
    found.push([name, rows.toString('utf8')]);
  }
  const { seal, signingKeys } = pipeline.accounts();
  const privateKeys: [string, string][] = [];
  for (const { id, private_jwk } of await signingKeys.find(sql`1`, 'id')) {
    const jwk = JSON.parse(seal.decrypt(private_jwk, `signing key ${id}`)) as Record<string, string>;
    for (const name of ['d', 'p', 'q']) if (jwk[name]) privateKeys.push([`${jwk.kty} ${name}`, jwk[name]]);
  }
  expect(privateKeys.map(([name]) => name)).toContain('RSA d');
  await pipeline.close();
  return { tables: found, privateKeys };
}

function filesUnder(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
