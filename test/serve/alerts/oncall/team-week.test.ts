import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM, canRun } from '../../../support/needed.ts';
import { type Colleague, Workplace } from './team-at-work.ts';

// A team of five sets up its pager and works with it for a week, in which the clock of its zone goes forward.

const isPossible = canRun(CHROMIUM);
/** Ten minutes of setup, at ten seconds for a click, a choice or a text. */
const ACTIONS_MAX = 60;

let place: Workplace;
let ann: Colleague;
let ben: Colleague;
let cleo: Colleague;
let dev: Colleague;
let eva: Colleague;
const team = () => [ann, ben, cleo, dev, eva];
let hook: string;
let key: string;

beforeAll(async () => {
  if (!isPossible) return;
  // Monday, 09:10 in Berlin: the first turn of a rotation that begins at nine has begun.
  place = await Workplace.open('2027-03-22T08:10Z');
  ann = await place.colleague('ann', true);
  const others = await Promise.all(['ben', 'cleo', 'dev', 'eva'].map((name) => place.colleague(name, false)));
  [ben, cleo, dev, eva] = others as [Colleague, Colleague, Colleague, Colleague];
});
afterAll(() => place?.close());

/** Sends an alert as a monitoring tool does, and returns the address of its page. */
async function send(title: string, more: object = {}): Promise<string> {
  const reply = await fetch(`${place.origin}${hook}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ title, fingerprint: title, severity: 'high', ...more }),
  });
  expect(reply.status).toBe(200);
  const [alert] = (await reply.json()) as { iid: number }[];
  return `/projects/1/alerts/${alert?.iid}`;
}

const ends = (title: string, more: object = {}) =>
  send(title, { end_time: new Date().toISOString(), ...more });

const linkIn = (mail: string) => /Acknowledge: https?:\/\/[^/]+(\/acknowledge\/\S+)/.exec(mail)?.[1] ?? '';

const nobodyElseWasPaged = () =>
  expect(team().map(({ name, unreadMail }) => [name, ...unreadMail])).toEqual(
    team().map(({ name }) => [name]),
  );

describe.runIf(isPossible)('a week of a team of five', () => {
  test('each signs up and proves an address', async () => {
    for (const one of team()) {
      await one.signUp();
      await one.addContact();
    }
    await ben.look('notifications');
  });

  test('a project, an integration and the members', async () => {
    await ann.follow('Projects and alerts');
    await ann.fill('Name', 'Render farm');
    await ann.click('Create project');
    expect(await ann.note()).toContain('Add an integration');
    await ann.fill('Name', 'Farm monitoring');
    await ann.click('Add integration');
    key = (await ann.page.locator('#secret').textContent()) ?? '';
    hook = new URL((await ann.page.locator('#address').textContent()) ?? '').pathname;
    expect(await ann.text()).toContain('New alerts page nobody yet');
    await ann.look('integration');
    await ann.tab('Members');
    for (const { name } of [ben, cleo, dev, eva]) {
      await ann.fill('Username', name);
      await ann.click('Add member');
    }
    await ann.look('members');
  });

  test('a schedule of five days, a policy, the default route and another one', async () => {
    await ann.tab('On call');
    await ann.look('on-call');
    await ann.fill('Name', 'Primary');
    await ann.fill('Time zone', 'Europe/Berlin');
    await ann.click('Create schedule');
    await ann.fill('Name', 'Daily');
    await ann.click('More turns');
    for (const [i, { name }] of team().entries()) await ann.choose(`Turn ${i + 1}`, `@${name}`);
    await ann.fill('A turn lasts', '1');
    await ann.choose('Unit', 'days');
    await ann.click('Add rotation');
    expect(await ann.text()).toContain('@ben');
    await ann.follow('Add it to a policy');
    await ann.follow('Add policy');
    await ann.fill('Name', 'Ops');
    await ann.choose('Step 1, target 1', 'Primary');
    await ann.click('Add step');
    await ann.choose('Step 2, target 1', '@ann');
    await ann.look('policy');
    await ann.click('Add policy');
    expect(await ann.text()).not.toContain('New alerts page nobody');
    await ann.tab('On call');
    expect(await ann.text()).not.toContain('Page a person when an alert comes');
    await ann.tab('Escalation');
    await ann.follow('Add policy');
    await ann.fill('Name', 'Storage');
    await ann.choose('Step 1, target 1', '@eva');
    await ann.click('Add policy');
    await ann.look('policies');
    await ann.tab('Routes');
    await ann.follow('Add route');
    await ann.fill('Name', 'Storage');
    await ann.fill('Matchers', 'team="storage"');
    await ann.choose('Policy', 'Storage');
    await ann.look('route');
    await ann.click('Add route');
    expect(await ann.text()).toContain('Storage team="storage"');
    await ann.look('routes');
    await ann.fill('Labels', 'team="storage"');
    await ann.click('Show preview');
    expect(await ann.text()).toContain('@eva');
    await ann.look('preview');
    expect(ann.actions).toBeLessThanOrEqual(ACTIONS_MAX);
  });

  test('Monday: a colleague takes a shift, is paged, and acknowledges on a phone', async () => {
    await place.moveTo('2027-03-22T08:30Z');
    await ann.tab('On call');
    expect(await ann.text()).toContain('Now@ann until Tue 23 Mar, 09:00');
    await ben.page.goto('/projects/1/oncall');
    await ben.follow('Primary');
    await ben.click(/^Take from/);
    expect(await ben.note()).toContain('You are on call from Mon 22 Mar, 09:30 to Tue 23 Mar, 09:00');
    const alert = await send('Disk full');
    expect(await ben.getMail()).toEqual(['[high] Disk full (#1 Render farm)']);
    await ben.page.goto(linkIn(ben.lastMail));
    await ben.look('acknowledge');
    await ben.click('Acknowledge');
    expect(await ben.text()).toContain('Acknowledged');
    await ben.follow('Open the alert');
    expect(await ben.text()).toContain('Alert #1');
    await ann.see(alert, 'acknowledged by @ben');
    await ann.look('alert-acknowledged');
    expect(await ben.getMail()).toEqual([expect.stringContaining('acknowledged')]);
    await ends('Disk full');
    expect(await ben.getMail()).toEqual([expect.stringContaining('resolved')]);
    nobodyElseWasPaged();
  });

  test('Wednesday: nobody answers, so the next step calls the lead', async () => {
    await place.moveTo('2027-03-24T09:00Z');
    const alert = await send('Queue is long');
    expect(await cleo.getMail()).toEqual(['[high] Queue is long (#2 Render farm)']);
    await cleo.see(alert, '@cleo by email: accepted');
    await place.moveTo('2027-03-24T09:11Z');
    expect(await ann.getMail()).toEqual(['[high] Queue is long (#2 Render farm)']);
    await ann.see(alert, 'step 2');
    await ann.click('Acknowledge');
    await ann.see(alert, 'acknowledged by @ann');
    await ends('Queue is long');
    await Promise.all([ann.getMail(2), cleo.getMail(2)]);
    nobodyElseWasPaged();
  });

  test('Thursday: a gap is warned of, and a page that meets it goes on to the next step', async () => {
    await ann.page.goto('/projects/1/oncall');
    await ann.follow('Primary');
    await ann.choose('On call', 'Nobody: leave a gap');
    await ann.fill('From', '2027-03-25T12:00');
    await ann.fill('Until', '2027-03-25T14:00');
    await ann.fill('Reason', 'The team eats together');
    await ann.click('Add override');
    await ann.tab('On call');
    expect(await ann.text()).toContain('Nobody is on call in Primary from Thu 25 Mar, 12:00');
    await ann.look('gap');
    await place.moveTo('2027-03-25T11:30Z');
    const alert = await send('Disk full again');
    expect(await ann.getMail()).toEqual(['[high] Disk full again (#3 Render farm)']);
    await ann.see(alert, 'step 1 has nobody to call');
    await ends('Disk full again');
    expect(await ann.getMail()).toEqual([expect.stringContaining('resolved')]);
    // Somebody gives up lunch.
    await dev.page.goto('/projects/1/oncall');
    await dev.follow('Primary');
    await dev.click(/^Take from Thu 25 Mar/);
    expect(await dev.note()).toContain('You are on call');
    await dev.page.goto('/projects/1/oncall');
    expect(await dev.text()).not.toContain('Nobody is on call');
    nobodyElseWasPaged();
  });

  test('Thursday night: maintenance keeps storage suppressed until it ends', async () => {
    await ann.tab('Maintenance');
    await ann.follow('Add window');
    await ann.fill('Name', 'New disks');
    await ann.fill('Matchers', 'team="storage"');
    await ann.fill('Times', '22:00-04:00');
    await ann.fill('Days of the week', 'thursday');
    await ann.fill('Time zone', 'Europe/Berlin');
    await ann.look('window-new');
    await ann.click('Add window');
    await ann.look('window');
    await place.moveTo('2027-03-25T22:00Z');
    const alert = await send('Array degraded', { team: 'storage' });
    await eva.see(alert, ': suppressed by');
    await eva.look('alert-in-window');
    await send('Render failed');
    expect(await dev.getMail()).toEqual(['[high] Render failed (#5 Render farm)']);
    await ends('Render failed');
    await dev.getMail();
    nobodyElseWasPaged();
    await place.moveTo('2027-03-26T03:00:30Z');
    expect(await eva.getMail()).toEqual(['[high] Array degraded (#4 Render farm)']);
    await eva.see(alert, 'pages people');
    await eva.click('Acknowledge');
    await eva.getMail();
    await ends('Array degraded', { team: 'storage' });
    await eva.getMail();
    nobodyElseWasPaged();
  });

  test('Friday: who is paged silences what comes again and again', async () => {
    await place.moveTo('2027-03-26T14:00Z');
    const first = await send('Node is slow', { service: 'render', node: 'r1' });
    expect(await eva.getMail()).toEqual(['[high] Node is slow (#6 Render farm)']);
    await eva.see(first, '@eva by email: accepted');
    await eva.follow('Silence this alert');
    await eva.fill('Matchers', 'service="render"');
    await eva.click('Count matching alerts');
    expect(await eva.text()).toContain('1 of 1 open alert matches.');
    await eva.fill('Comment', 'The vendor works on it');
    await eva.look('silence');
    await eva.click('Create silence');
    await eva.see(first, ': suppressed by');
    const second = await send('Node is slow', { service: 'render', fingerprint: 'r2' });
    await eva.see(second, ': suppressed by');
    await eva.look('alert-silenced');
    await ends('Node is slow', { service: 'render', node: 'r1' });
    expect(await eva.getMail()).toEqual([expect.stringContaining('resolved')]);
    nobodyElseWasPaged();
    await eva.page.goto('/projects/1/silences');
    await eva.look('silences');
    await eva.click(/^End the silence/);
    expect(await eva.getMail()).toEqual(['[high] Node is slow (#7 Render farm)']);
    await eva.see(second, 'pages people');
    await eva.click('Resolve');
    await eva.getMail();
    nobodyElseWasPaged();
  });

  test('Sunday: the shift changes at 09:00 by the clock that went forward', async () => {
    await place.moveTo('2027-03-28T06:55Z');
    await send('Fan broken');
    expect(await ann.getMail()).toEqual(['[high] Fan broken (#8 Render farm)']);
    await ends('Fan broken');
    await ann.getMail();
    await place.moveTo('2027-03-28T07:05Z');
    await send('Fan broken again');
    expect(await ben.getMail()).toEqual(['[high] Fan broken again (#9 Render farm)']);
    await ben.page.goto(linkIn(ben.lastMail));
    await ben.click('Page the next step');
    expect(await ben.text()).toContain('The next step was carried out.');
    expect(await ann.getMail()).toEqual(['[high] Fan broken again (#9 Render farm)']);
    await ends('Fan broken again');
    await Promise.all([ann.getMail(), ben.getMail()]);
    nobodyElseWasPaged();
  });
});
