import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, Browser, hiddenFields } from '../../accounts/browser.ts';
import { openWorld, type World } from '../../accounts/world.ts';
import { authorizeUrl, decide, exchangeOf, type Party, party, post } from '../oauth/flow.ts';

let world: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world);
});
afterAll(() => world.close());

const FORM_POST = { response_mode: 'form_post' };
const fieldsOf = (answer: Answer, action: string) => {
  expect(answer.statusCode).toBe(200);
  expect(answer.body).toContain(`<form method="post" action="${action.replaceAll('&', '&#38;')}">`);
  return hiddenFields(answer.body, action);
};

describe('response_mode=form_post (OAuth 2.0 Form Post Response Mode §2)', () => {
  test('sends code, state and iss in a form, and nothing in the address', async () => {
    const own = await party(world);
    const answer = await decide(own, { ...FORM_POST, state: `"><script>alert('1')</script>` });
    const fields = fieldsOf(answer, own.callback);
    expect(Object.keys(fields)).toEqual(['code', 'state', 'iss']);
    expect(fields.state).toBe(`"><script>alert('1')</script>`);
    expect(answer.headers.location).toBeUndefined();
    const exchanged = await post(world, '/oauth/token', exchangeOf(own, fields.code ?? ''));
    expect(exchanged.statusCode).toBe(200);
  });

  test('keeps the query of the redirect URI', async () => {
    const own = await party(world, { redirect_uris: 'https://client.example/cb?tenant=a&x=1' });
    fieldsOf(await decide(own, FORM_POST), own.callback);
  });

  test('is a page for one use: no cache, no frame, no script but its own', async () => {
    const [first, second] = [await decide(the, FORM_POST), await decide(the, FORM_POST)];
    const nonceOf = ({ headers }: Answer) =>
      /script-src 'nonce-([\w+/]{22}==)'/.exec(String(headers['content-security-policy']))?.[1] ?? '';
    expect(first.headers['cache-control']).toBe('no-store');
    expect(first.body).toContain(`<script nonce="${nonceOf(first)}">`);
    expect(nonceOf(first)).not.toBe(nonceOf(second));
    const policy = String(first.headers['content-security-policy']);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|form-action/);
  });

  test('is the way of errors too', async () => {
    expect(fieldsOf(await decide(the, FORM_POST, 'deny'), the.callback).error).toBe('access_denied');
    const wrong = await the.browser.get(authorizeUrl(the, { ...FORM_POST, scope: 'everything' }));
    expect(fieldsOf(wrong, the.callback)).toMatchObject({ error: 'invalid_scope', state: 'a state' });
    const silent = await new Browser(world.app).get(authorizeUrl(the, { ...FORM_POST, prompt: 'none' }));
    expect(fieldsOf(silent, the.callback).error).toBe('login_required');
  });

  test('is refused by a redirect for a private-use scheme, which no form can be posted to', async () => {
    const own = await party(world, { redirect_uris: 'com.example.app:/cb', is_confidential: false });
    const answer = await own.browser.get(authorizeUrl(own, FORM_POST));
    expect(answer.statusCode).toBe(303);
    expect(answer.headers.location).toMatch(/^com\.example\.app:\/cb\?error=unsupported_response_mode&/);
  });

  test('without a session leads to the sign-in page, as every request does', async () => {
    const url = authorizeUrl(the, { ...FORM_POST, scope: 'everything' });
    const answer = await new Browser(world.app).get(url);
    expect(answer.headers.location).toBe(`/sign-in?next=${encodeURIComponent(url)}`);
  });
});
