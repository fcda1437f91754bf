import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Seal } from '../../../../serve/accounts/secrets.ts';
import { changeUser } from '../../../../serve/accounts/users.ts';
import { AcknowledgeLinks } from '../../../../serve/alerts/paging/acknowledge-links.ts';
import { until } from '../../../infra/ports/opened.ts';
import { Browser } from '../../accounts/browser.ts';
import { type Person, Service } from '../service.ts';
import { PageReceiver, Team } from './team.ts';

const HOUR = 3_600_000;
const DEVELOPER = 30;
let aheadMs = 0;
const clock = { now: () => Date.now() + aheadMs };

let service: Service;
let ann: Person;
let bob: Person;
let receiver: PageReceiver;
let team: Team;
let people = 0;
beforeAll(async () => {
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true', PAGE_BUNDLE_SECONDS: '1' }, clock);
  ann = await service.person('ann');
});
beforeEach(async () => {
  aheadMs = 0;
  receiver = await PageReceiver.open();
  bob = await service.person(`bob${++people}`);
  await proveContact(bob);
  team = await Team.open(service, ann, { steps: [{ channels: [], users: [ann.user.id] }] });
  await join(bob);
  await setSteps([{ type: 'user', id: bob.user.id }], [{ type: 'user', id: bob.user.id }]);
});
afterEach(() => receiver.close());
afterAll(() => service?.close());

async function proveContact(who: Person): Promise<void> {
  const made = await service.api(who, 'POST', '/user/contact_methods', {
    type: 'webhook',
    address: receiver.url,
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const [, code] = /\b([a-z2-9]{8}) is your code/.exec(JSON.stringify(receiver.received.pop()?.body)) ?? [];
  const proof = await service.api(who, 'POST', `/user/contact_methods/${made.body.id}/verify`, { code });
  expect(proof.status).toBe(200);
}

const join = (who: Person) =>
  service.api(ann, 'POST', `/projects/${team.project}/members`, {
    username: who.user.username,
    access_level: DEVELOPER,
  });

const setSteps = (...targets: object[][]) =>
  service.api(ann, 'PUT', `/projects/${team.project}/escalation_policies/${team.policy}`, {
    steps: targets.map((of) => ({ targets: of, delay_minutes: 60, important: false })),
  });

const sendAlert = (fingerprint: string, more: object = {}) =>
  service.send(team.source, { title: `Disk of ${fingerprint}`, fingerprint, severity: 'high', ...more });

const untilEvents = (...wanted: string[]) =>
  until(`told ${wanted}, not ${receiver.events}`, async () => `${receiver.events}` === `${wanted}`);

/** The link of the newest message. */
const lastLink = (): string => new URL(receiver.received.at(-1)?.body.acknowledge_url).pathname;

async function linked(): Promise<string> {
  await sendAlert('disk');
  await untilEvents('triggered');
  return lastLink();
}

const statusOf = async (iid: number): Promise<string> =>
  (await service.api(ann, 'GET', `/projects/${team.project}/alerts/${iid}`)).body.status;

/** What is known of the first alert, but when its page is looked at next. */
async function told() {
  const { pages, ...rest } = await team.pagesOf(1);
  return {
    ...rest,
    pages: pages.map((page: object) => ({ ...page, next_at: null })),
    status: await statusOf(1),
  };
}

const tokenIn = (body: string) => ({
  form_token: /name="form_token" value="([^"]+)"/.exec(body)?.[1] ?? '',
});

async function click(link: string, action: string, browser = new Browser(service.app)) {
  const shown = await browser.get(link);
  return browser.post(link, { ...tokenIn(shown.body), action });
}

test('a link that scanners of mail follow changes nothing, and a click acknowledges once', async () => {
  const link = await linked();
  await until('its result is stored', async () => (await told()).notifications[0].state === 'sent');
  const before = await told();
  for (let i = 0; i < 50; i++) {
    for (const method of ['GET', 'HEAD'] as const) {
      const seen = await service.app.inject({ method, url: link });
      expect(seen.statusCode).toBe(200);
    }
  }
  expect(await told()).toEqual(before);
  const browser = new Browser(service.app);
  const page = await browser.get(link);
  expect(page.headers).toMatchObject({
    'cache-control': expect.stringContaining('no-store'),
    'x-robots-tag': 'noindex',
    'referrer-policy': 'same-origin',
  });
  expect(page.body).toContain('Disk of disk');
  expect(String(page.headers['set-cookie'])).toMatch(/HttpOnly/i);
  await click(link, 'acknowledge', browser);
  expect(await statusOf(1)).toBe('acknowledged');
  await until('the page is followed', async () =>
    (await browser.get(link)).body.includes(`Acknowledged by ${bob.user.name}`),
  );
  expect((await browser.get(link)).body).not.toContain('<button name="action"');
});

test('a form from elsewhere, without its token or without its cookie acknowledges nothing', async () => {
  const link = await linked();
  const browser = new Browser(service.app);
  const fields = { ...tokenIn((await browser.get(link)).body), action: 'acknowledge' };
  const refused = [
    await browser.post(link, { action: 'acknowledge' }),
    await browser.post(link, fields, { 'sec-fetch-site': 'cross-site' }),
    await browser.post(link, fields, { origin: 'https://evil.example' }),
    await new Browser(service.app).post(link, fields),
  ];
  expect(refused.map(({ statusCode }) => statusCode)).toEqual([403, 403, 403, 403]);
  expect(await statusOf(1)).toBe('triggered');
  expect((await browser.post(link, fields)).statusCode).toBe(303);
});

test('a link counts once, and not for what began again after it', async () => {
  const link = await linked();
  await click(link, 'acknowledge');
  await untilEvents('triggered', 'acknowledged');
  await team.setStatus(1, 'triggered');
  await untilEvents('triggered', 'acknowledged', 'triggered');
  const browser = new Browser(service.app);
  await click(lastLink(), 'escalate');
  await untilEvents('triggered', 'acknowledged', 'triggered', 'triggered');
  const fields = { ...tokenIn((await browser.get(lastLink())).body), action: 'acknowledge' };
  await browser.post(link, fields);
  expect(await statusOf(1)).toBe('triggered');
});

test('a forged link, one of another purpose, key or person leads nowhere', async () => {
  const link = await linked();
  const [payload = '', mac = ''] = link.slice('/acknowledge/'.length).split('.');
  const parts = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const asAnn = Buffer.from(JSON.stringify(parts.with(3, ann.user.id))).toString('base64url');
  const { seal } = service.accounts;
  const foreign = new AcknowledgeLinks({
    ...{ clock, seal: new Seal(randomBytes(32)), settings: { PAGE_LINK_HOURS: 24 } },
  });
  const [project, destination, message, user] = parts;
  const forged = [
    `/acknowledge/${asAnn}.${mac}`,
    `/acknowledge/${payload}.${seal.sign('form', payload)}`,
    `/acknowledge/${payload}.`,
    `/acknowledge/${payload}`,
    `/acknowledge/${'a'.repeat(5000)}`,
    foreign.urlOf({ project, destination, message, user }),
  ];
  const token = tokenIn((await new Browser(service.app).get(link)).body);
  for (const url of forged) {
    const browser = new Browser(service.app);
    const seen = await browser.get(url);
    expect([404, 414]).toContain(seen.statusCode);
    expect(seen.body).not.toContain('Disk of disk');
    expect((await browser.post(url, { ...token, action: 'acknowledge' })).statusCode).toBeGreaterThan(399);
  }
  expect(await statusOf(1)).toBe('triggered');
});

test('a link expires', async () => {
  const link = await linked();
  const browser = new Browser(service.app);
  const fields = tokenIn((await browser.get(link)).body);
  aheadMs = 24 * HOUR + 1000;
  const seen = await browser.get(link);
  expect(seen.statusCode).toBe(410);
  expect(seen.body).toContain(`href="/sign-in?next=%2Fprojects%2F${team.project}%2Falerts"`);
  expect((await browser.post(link, { ...fields, action: 'acknowledge' })).statusCode).toBe(410);
  expect(await statusOf(1)).toBe('triggered');
});

test('who left the project or is locked can use no link and is told nothing more', async () => {
  const link = await linked();
  await changeUser(service.accounts, bob.user.id, () => ({ locked_ms: 1 }));
  expect((await new Browser(service.app).get(link)).statusCode).toBe(404);
  await changeUser(service.accounts, bob.user.id, () => ({ locked_ms: 0 }));
  const browser = new Browser(service.app);
  const fields = tokenIn((await browser.get(link)).body);
  await service.api(ann, 'DELETE', `/projects/${team.project}/members/${bob.user.id}`);
  expect((await browser.get(link)).statusCode).toBe(404);
  expect((await browser.post(link, { ...fields, action: 'acknowledge' })).statusCode).toBe(404);
  expect(await statusOf(1)).toBe('triggered');
  await team.setStatus(1, 'resolved');
  await until('the update is given up', async () =>
    (await team.pagesOf(1)).notifications.some(({ fault }: { fault: string | null }) =>
      fault?.includes('left the project'),
    ),
  );
  expect(receiver.events).toEqual(['triggered']);
});

test('the link of a bundle acknowledges all that still calls, and opens nothing that ended', async () => {
  await linked();
  for (const name of ['a', 'b', 'c', 'd']) await sendAlert(name);
  await untilEvents('triggered', 'triggered');
  const link = lastLink();
  await sendAlert('b', { end_time: '2026-11-21' });
  const done = await click(link, 'acknowledge');
  expect(done.statusCode).toBe(303);
  expect(await Promise.all([1, 2, 3, 4, 5].map(statusOf))).toEqual([
    ...['triggered', 'acknowledged', 'resolved', 'acknowledged', 'acknowledged'],
  ]);
});
