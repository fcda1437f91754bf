import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../../accounts/world.ts';
import { type Party, party } from '../flow.ts';
import { allow } from './person.ts';

const MCP = 'https://mcp.example';
const insecure = { [oauth.allowInsecureRequests]: true };

let world: World;
let origin: string;
let the: Party;
beforeAll(async () => {
  world = await openWorld({ OAUTH_RESOURCES: MCP });
  origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
  the = await party(world, { is_confidential: false, redirect_uris: 'http://127.0.0.1/callback' });
});
afterAll(() => world.close());

/** Where the answer to a refused request says that the metadata is. */
async function metadataUrl(token: string): Promise<URL> {
  const call = oauth.protectedResourceRequest(
    token,
    'GET',
    new URL(`${origin}/api/v4/user`),
    new Headers(),
    null,
    insecure,
  );
  const error = await call.then(
    () => expect.fail('not refused'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof oauth.WWWAuthenticateChallengeError)) throw error;
  expect(error.cause.map(({ scheme }) => scheme)).toEqual(['bearer']);
  return new URL(error.cause[0]?.parameters.resource_metadata ?? '');
}

/** A client that knows only the address of the API, as those of the Model Context Protocol do. */
async function connect(resource: URL, wanted = resource.href) {
  const api = await oauth.processResourceDiscoveryResponse(resource, await fetch(await metadataUrl('wrong')));
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

const callUser = (token: string) =>
  oauth.protectedResourceRequest(
    token,
    'GET',
    new URL(`${origin}/api/v4/user`),
    new Headers(),
    null,
    insecure,
  );

describe('a client that knows only the address of the API (RFC 9728, RFC 8707)', () => {
  test('finds the metadata, the authorization server and a token for the API, and calls it', async () => {
    const resource = new URL(`${origin}/api`);
    const { as, client, pair, options } = await connect(resource);
    const user = await callUser(pair.access_token);
    expect(await user.json()).toMatchObject({ username: the.user.username });
    const answer = await oauth.refreshTokenGrantRequest(
      as,
      client,
      oauth.None(),
      pair.refresh_token ?? '',
      options,
    );
    const next = await oauth.processRefreshTokenResponse(as, client, answer);
    expect((await callUser(next.access_token)).status).toBe(200);
  });

  test('finds the same metadata by the path of the resource', async () => {
    const resource = new URL(`${origin}/api`);
    const found = await oauth.processResourceDiscoveryResponse(
      resource,
      await oauth.resourceDiscoveryRequest(resource, insecure),
    );
    expect(found).toEqual(await (await fetch(await metadataUrl('wrong'))).json());
  });

  test('is led back to the metadata when its token is for another resource', async () => {
    const { pair } = await connect(new URL(`${origin}/api`), MCP);
    expect((await metadataUrl(pair.access_token)).href).toBe((await metadataUrl('wrong')).href);
  });
});
