import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anApplication, aUser, openWorld, type World } from '../../../accounts/world.ts';
import {
  freePort,
  programDirectory,
  startProgram,
  writeProgram,
} from '../../openid/clients/guide-applications.ts';
import { type Party, party } from '../flow.ts';
import { allow } from './person.ts';

const insecure = { [oauth.allowInsecureRequests]: true };

let world: World;
let origin: string;
let the: Party;
/** Where an API of another server is, and its resource. */
let port: number;
let tools: URL;
beforeAll(async () => {
  port = await freePort();
  tools = new URL(`http://localhost:${port}/tools`);
  world = await openWorld({ OAUTH_RESOURCES: tools.href });
  origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
  the = await party(world, { is_confidential: false, redirect_uris: 'http://127.0.0.1/callback' });
});
afterAll(() => world.close());

const call = (token: string, url: URL) =>
  oauth.protectedResourceRequest(token, 'GET', url, new Headers(), null, insecure);

/** Where the answer to a refused request says that the metadata is. */
async function metadataUrl(token: string, url = user()): Promise<URL> {
  const error = await call(token, url).then(
    () => expect.fail('not refused'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof oauth.WWWAuthenticateChallengeError)) throw error;
  expect(error.cause.map(({ scheme }) => scheme)).toEqual(['bearer']);
  return new URL(error.cause[0]?.parameters.resource_metadata ?? '');
}

const user = () => new URL(`${origin}/api/v4/user`);

/** A client that knows only the address of the API, as those of the Model Context Protocol do. */
async function connect(url: URL, resource: URL, wanted = resource.href) {
  const metadata = await fetch(await metadataUrl('wrong', url));
  const api = await oauth.processResourceDiscoveryResponse(resource, metadata);
  const issuer = new URL(api.authorization_servers?.[0] ?? '');
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  );
  const client: oauth.Client = { client_id: the.application.id };
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
  const redirectUri = 'http://127.0.0.1:49152/callback';
  const address = new URL(as.authorization_endpoint as string);
  address.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: api.scopes_supported?.join(' ') ?? '',
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource: wanted,
  }).toString();
  const parameters = oauth.validateAuthResponse(as, client, await allow(the, address), state);
  const options = { ...insecure, additionalParameters: { resource: wanted } };
  const answer = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    oauth.None(),
    parameters,
    redirectUri,
    verifier,
    options,
  );
  const pair = await oauth.processAuthorizationCodeResponse(as, client, answer);
  return { as, client, pair, options };
}

describe('a client that knows only the address of an API (RFC 9728, RFC 8707)', () => {
  const api = () => new URL(`${origin}/api`);

  test('finds the metadata, the authorization server and a token for the API, and calls it', async () => {
    const { as, client, pair, options } = await connect(user(), api());
    expect(await (await call(pair.access_token, user())).json()).toMatchObject({
      username: the.user.username,
    });
    const answer = await oauth.refreshTokenGrantRequest(
      as,
      client,
      oauth.None(),
      pair.refresh_token ?? '',
      options,
    );
    const next = await oauth.processRefreshTokenResponse(as, client, answer);
    expect((await call(next.access_token, user())).status).toBe(200);
  });

  test('finds the same metadata by the path of the resource', async () => {
    const found = await oauth.processResourceDiscoveryResponse(
      api(),
      await oauth.resourceDiscoveryRequest(api(), insecure),
    );
    expect(found).toEqual(await (await fetch(await metadataUrl('wrong'))).json());
  });

  test('is led back to the metadata when its token is for another resource', async () => {
    const { pair } = await connect(user(), api(), tools.href);
    expect((await metadataUrl(pair.access_token)).href).toBe((await metadataUrl('wrong')).href);
  });

  test('calls the API of the guide, which accepts tokens for itself only', async () => {
    const { application, secret } = await anApplication(world, await aUser(world));
    using directory = programDirectory();
    const addresses = { 'http://localhost:3000': origin, '8080': String(port) };
    const program = writeProgram(directory.path, ['js', 'guard'], 'tools.mjs', addresses, 'oauth');
    const env = { CLIENT_ID: application.id, CLIENT_SECRET: secret };
    await using _ = await startProgram([process.execPath, program], port, env);
    const { pair } = await connect(tools, tools);
    expect(await (await call(pair.access_token, tools)).text()).toBe(`Hello, user ${the.user.id}`);
    const others = [await connect(user(), api()), await connect(user(), api(), '')];
    for (const { pair: other } of others) await metadataUrl(other.access_token, tools);
    await metadataUrl(pair.access_token, user());
  });
});
