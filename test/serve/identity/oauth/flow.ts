import { createHash, randomBytes } from 'node:crypto';
import type { Application, User } from '../../../../serve/accounts/tables.ts';
import { type Answer, type Browser, encoded, type Fields, hiddenFields } from '../../accounts/browser.ts';
import { anApplication, aUser, CALLBACK, signedIn, type World } from '../../accounts/world.ts';

/** A user with a browser, and an application of another user. */
export interface Party {
  readonly world: World;
  readonly user: User;
  readonly browser: Browser;
  readonly application: Application;
  readonly secret: string;
  readonly callback: string;
}

export async function party(world: World, more: Parameters<typeof anApplication>[2] = {}): Promise<Party> {
  const [user, owner] = [await aUser(world), await aUser(world)];
  const { application, secret } = await anApplication(world, owner, more);
  const browser = await signedIn(world, user);
  return {
    world,
    user,
    browser,
    application,
    secret,
    callback: more.redirect_uris?.split('\n')[0] ?? CALLBACK,
  };
}

export const verifierOf = () => randomBytes(32).toString('base64url');
export const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url');

export function authorizeUrl({ application, callback }: Party, more: Fields = {}): string {
  const fields: Fields = {
    client_id: application.id,
    redirect_uri: callback,
    response_type: 'code',
    scope: 'api',
    state: 'a state',
    ...more,
  };
  return `/oauth/authorize?${encoded(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '')))}`;
}

/** Submits the authorization page and returns the redirect. */
export async function decide(the: Party, more: Fields = {}, decision = 'allow'): Promise<Answer> {
  const page = await the.browser.get(authorizeUrl(the, more));
  if (page.statusCode !== 200) return page;
  // Of several resources, `hiddenFields` keeps the last.
  const { resource } = more;
  const fields = { ...hiddenFields(page.body, '/oauth/authorize'), ...(resource && { resource }), decision };
  return the.browser.post('/oauth/authorize', fields);
}

export function answerOf(answer: Answer): URLSearchParams {
  return new URL(String(answer.headers.location)).searchParams;
}

/** A code that the user authorized. */
export async function aCode(the: Party, more: Fields = {}): Promise<string> {
  const answer = await decide(the, more);
  const code = answer.statusCode === 303 ? answerOf(answer).get('code') : null;
  if (code === null)
    throw new Error(`no code: ${answer.statusCode} ${answer.headers.location} ${answer.body.slice(0, 300)}`);
  return code;
}

export function post(
  { app }: World,
  url: string,
  fields: Fields,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return app.inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: encoded(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''))),
  });
}

export const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** The fields that exchange a code, with the client secret in the body. */
export const exchangeOf = (
  { application, secret, callback }: Party,
  code: string,
): Record<string, string> => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: callback,
  client_id: application.id,
  client_secret: secret,
});

/** A code with PKCE, and the fields that exchange it without a client secret. */
export async function pkceExchange(
  the: Party,
  more: Record<string, string> = {},
): Promise<{ readonly verifier: string; readonly fields: Record<string, string> }> {
  const verifier = verifierOf();
  const code = await aCode(the, { code_challenge: challengeOf(verifier), code_challenge_method: 'S256' });
  const { client_secret: _, ...fields } = exchangeOf(the, code);
  return { verifier, fields: { ...fields, code_verifier: verifier, ...more } };
}

export const refreshOf = ({ application, secret }: Party, token: string): Record<string, string> => ({
  grant_type: 'refresh_token',
  refresh_token: token,
  client_id: application.id,
  client_secret: secret,
});

export interface Pair {
  readonly access_token: string;
  readonly refresh_token: string;
}

export async function aPair(the: Party, more: Fields = {}): Promise<Pair> {
  const answer = await post(the.world, '/oauth/token', exchangeOf(the, await aCode(the, more)));
  if (answer.statusCode !== 200) throw new Error(`no pair: ${answer.statusCode} ${answer.body}`);
  return answer.json();
}

export const infoOf = ({ app }: World, token: string) =>
  app.inject({ url: '/oauth/token/info', headers: bearer(token) });

export async function isActive(world: World, token: string): Promise<boolean> {
  return (await infoOf(world, token)).statusCode === 200;
}

/** The error response of the token endpoint. */
export const refusal = (error: string) => ({ error, error_description: expectText });
/** Of the characters that RFC 6749 §5.2 allows. */
const expectText = {
  asymmetricMatch: (value: unknown) =>
    typeof value === 'string' && /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/.test(value),
};
