import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWorld, PASSWORD, type World } from '../../accounts/world.ts';
import { aCode, aPair, exchangeOf, type Party, party, post, refreshOf, refusal } from './flow.ts';

const ISSUER = 'https://metrics.example';
const API = `${ISSUER}/api`;
const MCP = 'https://mcp.example';
const REPORTS = 'urn:example:reports';

let world: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld({ PUBLIC_URL: ISSUER, OAUTH_RESOURCES: `${MCP},${REPORTS}` });
  the = await party(world);
});
afterAll(() => world.close());

type Named = string | readonly string[];
/** A token request; several resources become several parameters. */
function ask(fields: Record<string, string>, resource: Named = [], at = world) {
  const form = new URLSearchParams(fields);
  for (const uri of [resource].flat()) form.append('resource', uri);
  return at.app.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: form.toString(),
  });
}

async function audience(token: string, of = the): Promise<string[] | undefined> {
  const { application, secret } = of;
  const client = { client_id: application.id, client_secret: secret };
  return (await post(world, '/oauth/introspect', { ...client, token })).json().aud;
}

const passwordFields = () => ({
  grant_type: 'password',
  username: the.user.username,
  password: PASSWORD,
  client_id: the.application.id,
  client_secret: the.secret,
});

describe('resources of a token request (RFC 8707 §2.2)', () => {
  test.each<[string, Named, string[] | undefined]>([
    ['none', [], undefined],
    ['an empty one', '', undefined],
    ['our API', API, [API]],
    ['our API, with its default port', 'https://metrics.example:443/api', [API]],
    ['our API, with a host in capitals', 'https://METRICS.example/api', [API]],
    ['one of the setting, with a slash behind its host', `${MCP}/`, [MCP]],
    ['several', [REPORTS, API], [REPORTS, API]],
    ['one of them twice', [API, API, `${MCP}/`, MCP], [API, MCP]],
  ])('%s is the audience', async (_what, resource, aud) => {
    const answer = await ask(passwordFields(), resource);
    expect(answer.statusCode, answer.body).toBe(200);
    expect(await audience(answer.json().access_token)).toEqual(aud);
  });

  test.each<[string, Named]>([
    ['another host', 'https://evil.example'],
    ['the issuer itself', ISSUER],
    ['a path below our API', `${API}/v4`],
    ['a path beside it', `${ISSUER}/apis`],
    ['another path of a listed host', `${MCP}/admin`],
    ['plain http', 'http://metrics.example/api'],
    ['a fragment', `${API}#`],
    ['a query', `${API}?x=1`],
    ['a user', 'https://metrics.example@evil.example/api'],
    ['a relative one', '/api'],
    ['no URI', 'our API'],
    ['a good one and another', [API, 'https://evil.example']],
    ['a long one', `https://evil.example/${'x'.repeat(9000)}`],
    ['a quote', 'https://evil.example/"\\é'],
  ])('%s is invalid_target', async (_what, resource) => {
    const answer = await ask(passwordFields(), resource);
    expect([answer.statusCode, answer.json()]).toEqual([400, refusal('invalid_target')]);
    expect(answer.json().error_description.length).toBeLessThan(300);
  });

  test('an authorization without resources is one for our API', async () => {
    const code = await aCode(the);
    const refused = await ask(exchangeOf(the, code), MCP);
    expect([refused.statusCode, refused.json()]).toEqual([400, refusal('invalid_target')]);
    // The refusal has not used up the code.
    const answer = await ask(exchangeOf(the, code), API);
    expect(answer.statusCode, answer.body).toBe(200);
    const { access_token, refresh_token } = answer.json();
    expect(await audience(access_token)).toEqual([API]);
    expect((await ask(refreshOf(the, refresh_token), MCP)).json()).toEqual(refusal('invalid_target'));
    const refreshed = (await ask(refreshOf(the, refresh_token))).json();
    expect(await audience(refreshed.access_token)).toBeUndefined();
  });
});

describe('a repetition within the grace', () => {
  test('gets no token for other resources than the one in use', async () => {
    await using graceful = await world.beside({
      PUBLIC_URL: ISSUER,
      OAUTH_RESOURCES: MCP,
      OAUTH_REFRESH_GRACE_SECONDS: '30',
    });
    const { refresh_token } = await aPair(the);
    const first = (await ask(refreshOf(the, refresh_token), [], graceful)).json();
    const narrower = await ask(refreshOf(the, refresh_token), API, graceful);
    expect([narrower.statusCode, narrower.json()]).toEqual([400, refusal('invalid_target')]);
    const again = (await ask(refreshOf(the, refresh_token), [], graceful)).json();
    expect(again.access_token).toBe(first.access_token);
  });
});
