import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { alertEvents } from '../../../aggregate/alerts/model/tables.ts';
import { sql } from '../../../infra/sql.ts';
import { until } from '../../infra/ports/opened.ts';
import { type Browser, plain } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { AMAZON, LocalAmazon, TOPIC } from './local-amazon.ts';
import { type Person, Service, type Source } from './service.ts';

const run = promisify(execFile);

let amazon: LocalAmazon;
let service: Service;
let ann: Person;
let browser: Browser;
let project: number;
let source: Source;
let restore: () => void;
beforeAll(async () => {
  amazon = await LocalAmazon.open();
  restore = amazon.replaceAmazon();
  service = await Service.open();
  ann = await service.person('ann', PASSWORD);
  browser = await signedIn(service, ann.user);
});
beforeEach(async () => {
  project = await service.project(ann);
  source = await service.source(ann, project, { type: 'SNS' });
});
afterEach(() => amazon.asked.splice(0));
afterAll(async () => {
  restore?.();
  await service?.close();
  amazon?.close();
});

const TEXT = { 'content-type': 'text/plain; charset=UTF-8' };
const send = (message: unknown, headers: Record<string, string> = TEXT) =>
  service.send(source, message, headers);
const path = () => `/projects/${project}/integrations/${source.id}`;
const alerts = async () => (await service.api(ann, 'GET', `/projects/${project}/alerts`)).body;
const settings = async () => (await service.api(ann, 'GET', path())).body;
const pageOf = async () => plain((await browser.get(path())).body);

const alarm = (state: string, fields: object = {}) => ({
  Message: JSON.stringify({
    AlarmName: 'Disk of node-7',
    AlarmDescription: 'The disk is nearly full',
    NewStateValue: state,
    NewStateReason: 'Threshold Crossed',
    StateChangeTime: '2026-11-20T10:00:00.000+0000',
    Region: 'EU (Ireland)',
    AlarmArn: 'arn:aws:cloudwatch:eu-west-1:123456789012:alarm:disk',
    ...fields,
  }),
  Subject: `${state}: "Disk of node-7" in EU (Ireland)`,
});

describe('a message', () => {
  test.each(['1', '2'] as const)('with a signature of version %s is an alert', async (version) => {
    const text = 'The disk is full.\nIt has been so since ten.';
    const { status, body } = await send(amazon.message({ Message: text, Subject: 'Disk' }, version));
    expect(status).toBe(200);
    expect(body).toEqual([{ iid: 1, title: 'Disk' }]);
    expect((await alerts())[0]).toMatchObject({ title: 'Disk', description: text });
  });

  test('whose text is a JSON object is a generic payload, and nothing of its envelope is stored', async () => {
    const payload = { title: 'Disk is full', severity: 'high', fingerprint: 'disk' };
    await send(amazon.message({ Message: JSON.stringify(payload) }));
    const { body } = await service.api(ann, 'GET', `/projects/${project}/alerts/1`);
    expect(body).toMatchObject({ title: 'Disk is full', severity: 'high', payload });
  });

  test('that comes again counts once, and a replay gives the same alerts', async () => {
    const message = amazon.message({ Message: '{"title":"Again","fingerprint":"a"}' });
    const first = await send(message);
    expect(await send(message)).toMatchObject({ status: 200, body: first.body });
    await send({ ...amazon.message({ Message: '{"title":"Again","fingerprint":"a"}' }) });
    expect(await alerts()).toMatchObject([{ event_count: 2 }]);
    const pipeline = await service.pipeline.alerts();
    const replayed = await pipeline.replay({ projects: [project], dryRun: true });
    expect(replayed).toMatchObject([{ refused: null, differing: 0 }]);
  });

  test('is accepted as JSON too', async () => {
    expect((await send(amazon.message(), {})).status).toBe(200);
  });

  test('costs one request for its certificate a day', async () => {
    for (let i = 0; i < 3; i++) await send(amazon.message());
    expect(amazon.asked.length).toBeLessThanOrEqual(1);
  });
});

describe('a message is refused', () => {
  const wrong = (fields: object) => ({ ...amazon.message(), ...fields });
  test.each<[string, () => object, number, RegExp]>([
    ['whose text was changed', () => wrong({ Message: 'Changed' }), 403, /signature/],
    ['with a subject that was added', () => wrong({ Subject: 'Added' }), 403, /signature/],
    ['with the signature of another version', () => wrong({ SignatureVersion: '1' }), 403, /signature/],
    ['of another version', () => wrong({ SignatureVersion: '3' }), 422, /SignatureVersion/],
    ['that is no signature', () => wrong({ Signature: '!' }), 422, /Signature/],
    ['that is old', () => amazon.message({ Timestamp: '2026-11-01T00:00:00.000Z' }), 403, /older than a day/],
    ['that is raw', () => ({ AlarmName: 'raw' }), 422, /raw message delivery/],
    ['of no topic', () => wrong({ TopicArn: 'alarms' }), 422, /TopicArn/],
    [
      'whose certificate is elsewhere',
      () => wrong({ SigningCertURL: 'https://evil.example/a.pem' }),
      422,
      /SigningCertURL/,
    ],
  ])('%s', async (_what, message, status, reason) => {
    const reply = await send(message());
    expect(reply.status).toBe(status);
    expect(reply.body.message).toMatch(reason);
    expect(await alerts()).toEqual([]);
    expect((await settings()).topics).toEqual([]);
  });

  test('for a while if its certificate cannot be fetched, so that Amazon sends it again', async () => {
    amazon.answer('/moved.pem', (_request, response) =>
      response.writeHead(302, { location: `${AMAZON}/SimpleNotificationService-1.pem` }).end(),
    );
    amazon.answer('/large.pem', (_request, response) =>
      response.end(Buffer.concat([amazon.certificate, Buffer.alloc(65_536, '\n')])),
    );
    amazon.answer('/wrong.pem', (_request, response) => response.end('no certificate'));
    for (const name of ['moved', 'large', 'wrong', 'missing']) {
      const reply = await send(amazon.message({ SigningCertURL: `${AMAZON}/${name}.pem` }));
      expect(reply, name).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
      expect(reply.body.message).toContain('cannot be fetched');
    }
    expect(amazon.asked).toHaveLength(4);
  });
});

describe('topics', () => {
  const other = `${TOPIC}-of-others`;

  test('the first one that sends a message becomes the only one', async () => {
    await send(amazon.message());
    expect((await settings()).topics).toEqual([TOPIC]);
    const reply = await send(amazon.message({ TopicArn: other }));
    expect(reply.status).toBe(403);
    expect(reply.body.message).toContain('does not accept this topic');
    expect(await alerts()).toHaveLength(1);
  });

  test('are those that a Maintainer enters', async () => {
    const entered = { topics: [TOPIC, other] };
    expect((await service.api(ann, 'PUT', path(), entered)).body.topics).toEqual([TOPIC, other]);
    for (const TopicArn of [TOPIC, other])
      expect((await send(amazon.message({ TopicArn }))).status).toBe(200);
    const refused = await service.api(ann, 'PUT', path(), { topics: ['alarms'] });
    expect(refused.status).toBe(400);
    expect(refused.body.errors ?? refused.body.message).toBeDefined();
    expect(await pageOf()).toContain(`${TOPIC}\n${other}`);
  });
});

describe('a subscription', () => {
  const confirmation = (fields: object = {}) =>
    amazon.message({
      Type: 'SubscriptionConfirmation',
      Token: 'secret',
      SubscribeURL: `${AMAZON}/?Action=ConfirmSubscription&TopicArn=${TOPIC}&Token=${source.id}`,
      ...fields,
    });
  const confirmed = () => amazon.asked.filter((url) => url.includes('ConfirmSubscription'));

  test('is confirmed once, tried again after a failure, and is no alert', async () => {
    let failures = 1;
    amazon.answer('/', (_request, response) =>
      failures-- > 0 ? response.writeHead(500).end() : response.end('<ConfirmSubscriptionResponse/>'),
    );
    const message = confirmation();
    for (let i = 0; i < 2; i++) expect(await send(message)).toMatchObject({ status: 200, body: [] });
    await until('it is confirmed', async () => (await pageOf()).includes('>confirmed<'), 20_000);
    expect(confirmed()).toHaveLength(2);
    expect(confirmed()[0]).toContain(`Token=${source.id}`);
    expect(await alerts()).toEqual([]);
    expect((await settings()).topics).toEqual([TOPIC]);
  });

  test.each<[string, () => object]>([
    ['is at another host', () => confirmation({ SubscribeURL: 'https://evil.example/?Token=a' })],
    ['is not signed', () => ({ ...confirmation(), Token: 'other' })],
    ['is of another topic', () => confirmation({ TopicArn: `${TOPIC}-of-others` })],
  ])('that %s is not confirmed', async (_what, message) => {
    await service.api(ann, 'PUT', path(), { topics: [TOPIC] });
    expect((await send(message())).status).toBeGreaterThanOrEqual(400);
    expect(confirmed()).toEqual([]);
    expect(await pageOf()).toContain('No topic has asked');
  });

  test('that ends brings no alert', async () => {
    const ended = confirmation({ Type: 'UnsubscribeConfirmation' });
    expect(await send(ended)).toMatchObject({ status: 200, body: [] });
    expect(confirmed()).toEqual([]);
  });
});

describe('the key', () => {
  test('is asked for by Basic first, as Amazon understands it', async () => {
    const message = JSON.stringify(amazon.message());
    const headers = { ...TEXT, 'x-amz-sns-message-type': 'Notification', authorization: '' };
    const reply = await service.send(source, message, headers);
    expect(reply.status).toBe(401);
    expect(reply.headers['www-authenticate']).toMatch(/^Basic /);
    const unknown = { ...source, path: source.path.replace(source.id, '0123456789abcdef') };
    expect(await service.send(unknown, message, headers)).toMatchObject({ status: 401, body: reply.body });
    const authorization = `Basic ${Buffer.from(`sns:${source.key}`).toString('base64')}`;
    expect((await service.send(source, message, { ...headers, authorization })).status).toBe(200);
  });

  test('of another type of integration takes no text', async () => {
    const other = await service.source(ann, project);
    const reply = await service.send(other, JSON.stringify(amazon.message()), TEXT);
    expect(reply.status).toBe(415);
  });
});

test('curl sends a message of Amazon to the address that people are shown', async () => {
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
  const address = `${url.replace('://', `://sns:${source.key}@`)}${source.path}`;
  const message = JSON.stringify(amazon.message({ Message: 'From curl' }));
  const args = ['-sS', address, '-H', 'Content-Type: text/plain; charset=UTF-8', '--data-raw', message];
  const { stdout } = await run('curl', args);
  expect(JSON.parse(stdout)).toEqual([{ iid: 1, title: 'From curl' }]);
});

describe('an alarm of CloudWatch', () => {
  test('is resolved by its ARN, and insufficient data changes nothing', async () => {
    await send(amazon.message(alarm('ALARM')));
    await send(amazon.message(alarm('INSUFFICIENT_DATA', { NewStateReason: 'no data' })));
    expect(await alerts()).toMatchObject([
      { title: 'Disk of node-7', status: 'triggered', event_count: 1, monitoring_tool: 'CloudWatch' },
    ]);
    await send(amazon.message(alarm('OK', { NewStateReason: 'back to normal' })));
    expect(await alerts()).toMatchObject([{ status: 'resolved' }]);
    const [row] = await service.pipeline.runtime.store.rows<{ outcomes: string[] }>(
      sql`SELECT groupArray(outcomes[1]) AS outcomes FROM (SELECT outcomes FROM ${alertEvents} FINAL
        WHERE project = ${project} ORDER BY position)`,
    );
    expect(row?.outcomes).toEqual(['created', 'ignored', 'resolved']);
  });
});
