import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Destination } from '../../../../serve/alerts/messages/destination.ts';
import { MessageSender } from '../../../../serve/alerts/messages/send.ts';
import { Mailer } from '../../../../serve/mail/mailer.ts';
import { Recorder } from '../recorder.ts';
import { madeMessage } from './made-message.ts';

const NOW = Date.UTC(2026, 2, 22, 8);
let recorder: Recorder;
beforeAll(async () => {
  recorder = await Recorder.open();
});
beforeEach(() => {
  recorder.requests.length = 0;
  recorder.answer = { status: 200 };
});
afterAll(() => recorder.close());

const senderOf = (settings: Record<string, string>, allowsPrivate = true) =>
  new MessageSender({
    clock: { now: () => NOW },
    mailer: new Mailer({ SMTP_REQUIRE_TLS: true }),
    settings,
    allowsPrivate,
  });
const sender = senderOf({});
const destination = (type: Destination['type'], settings: Record<string, string>): Destination => ({
  id: 'c1',
  type,
  isChannel: true,
  settings,
});

test.each([
  ['slack', { url: 'URL/hook' }, '/hook'],
  ['teams', { url: 'URL/flow?sig=x' }, '/flow?sig=x'],
  ['pagerduty', { url: 'URL/v2/enqueue', routing_key: 'R'.repeat(32) }, '/v2/enqueue'],
  ['webhook', { url: 'URL/own' }, '/own'],
] as const)('%s gets the key of the message and its body', async (type, settings, path) => {
  const given = Object.entries(settings).map(([name, text]) => [name, text.replace('URL', recorder.url)]);
  const outcome = await sender.send(destination(type, Object.fromEntries(given)), madeMessage());
  expect(outcome).toEqual({ status: 200, fault: '', isRefused: false, retryAfterMs: 0 });
  expect(recorder.last.path).toBe(path);
  expect(recorder.last.headers).toMatchObject({
    'content-type': 'application/json',
    'x-chain-metrics-event': 'triggered',
    'x-chain-metrics-delivery': '42/night/1.1.1/c1/0',
    'idempotency-key': '42/night/1.1.1/c1/0',
  });
  expect(recorder.last.text).toContain('Disk of node-7 is full');
});

test('requests to a webhook with a secret are signed', async () => {
  await sender.send(destination('webhook', { url: recorder.url, secret: 'hush' }), madeMessage());
  const { text, headers } = recorder.last;
  const seconds = NOW / 1000;
  const mac = createHmac('sha256', 'hush').update(`${seconds}.${text}`).digest('hex');
  expect(headers['x-chain-metrics-signature']).toBe(`t=${seconds},v1=${mac}`);
});

describe('an answer', () => {
  test.each([
    [202, '', false],
    [301, 'answered with 301', true],
    [400, 'answered with 400', true],
    [404, 'answered with 404', true],
    [408, 'answered with 408', false],
    [425, 'answered with 425', false],
    [429, 'answered with 429', false],
    [500, 'answered with 500', false],
    [503, 'answered with 503', false],
  ])('of %i is "%s", refused for good: %s', async (status, fault, isRefused) => {
    recorder.answer = { status, headers: { location: `${recorder.url}/elsewhere` } };
    const outcome = await sender.send(destination('slack', { url: recorder.url }), madeMessage());
    expect(outcome).toEqual({ status, fault, isRefused, retryAfterMs: 0 });
    expect(recorder.requests).toHaveLength(1);
  });

  test('may ask for a wait', async () => {
    recorder.answer = { status: 429, headers: { 'retry-after': '17' } };
    const outcome = await sender.send(destination('teams', { url: recorder.url }), madeMessage());
    expect(outcome).toMatchObject({ status: 429, isRefused: false, retryAfterMs: 17_000 });
  });

  test('with words is not repeated: the URL may lead to what members must not read', async () => {
    recorder.answer = { status: 400, body: 'internal secret' };
    const { fault } = await sender.send(destination('webhook', { url: recorder.url }), madeMessage());
    expect(fault).toBe('answered with 400');
  });
});

describe('a private address', () => {
  test.each(['slack', 'teams', 'pagerduty', 'webhook'] as const)(
    'gets no message of type %s',
    async (type) => {
      const strict = senderOf({}, false);
      const outcome = await strict.send(destination(type, { url: recorder.url }), madeMessage());
      expect(outcome).toMatchObject({
        status: 0,
        isRefused: true,
        fault: expect.stringContaining('the address is private'),
      });
      expect(recorder.requests).toEqual([]);
    },
  );

  test('may be that of the Bot API server that the operator set', async () => {
    recorder.answer = { status: 200, body: '{"ok":true,"result":{}}' };
    const own = senderOf({ TELEGRAM_BOT_TOKEN: '1:a', TELEGRAM_API_URL: recorder.url }, false);
    const outcome = await own.send(destination('telegram', { chat_id: '9' }), madeMessage());
    expect(outcome).toEqual({ status: 200, fault: '', isRefused: false, retryAfterMs: 0 });
    expect(recorder.last).toMatchObject({ path: '/bot1:a/sendMessage', body: { chat_id: '9' } });
  });
});

describe('Telegram', () => {
  const send = () =>
    senderOf({ TELEGRAM_BOT_TOKEN: '1:a', TELEGRAM_API_URL: recorder.url }).send(
      destination('telegram', { chat_id: '9' }),
      madeMessage(),
    );

  test('says in its body how long to wait', async () => {
    recorder.answer = {
      status: 429,
      body: '{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}',
    };
    expect(await send()).toEqual({
      status: 429,
      fault: 'answered with 429: Too Many Requests: retry after 35',
      isRefused: false,
      retryAfterMs: 35_000,
    });
  });

  test.each(['{"ok":false}', '<html>', 'null', ''])(
    'has not accepted what it answers with 200 and %s',
    async (body) => {
      recorder.answer = { status: 200, body };
      expect(await send()).toMatchObject({ fault: 'answered with 200', isRefused: false });
    },
  );

  test('tells that it was blocked, for good', async () => {
    recorder.answer = {
      status: 403,
      body: '{"ok":false,"description":"Forbidden: bot was blocked by the user"}',
    };
    expect(await send()).toMatchObject({
      fault: 'answered with 403: Forbidden: bot was blocked by the user',
      isRefused: true,
    });
  });
});

test.each([
  ['email', 'E-mail is not set up here. The operator of this server has to set SMTP_URL and SMTP_FROM.'],
  ['telegram', 'Telegram is not set up here. The operator of this server has to set TELEGRAM_BOT_TOKEN.'],
] as const)('%s is refused for good until it is set up', async (type, fault) => {
  expect(sender.missingSetup(type)).toBe(fault);
  expect(await sender.send(destination(type, { address: 'a@b.c', chat_id: '1' }), madeMessage())).toEqual({
    status: 0,
    fault,
    isRefused: true,
    retryAfterMs: 0,
  });
});

test('settings that lead nowhere are a fault and no error', async () => {
  expect(await sender.send(destination('slack', { url: 'nowhere' }), madeMessage())).toMatchObject({
    status: 0,
    fault: 'Invalid URL',
  });
});
