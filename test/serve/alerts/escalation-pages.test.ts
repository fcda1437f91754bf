import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Browser, plain } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { type Person, Service } from './service.ts';

let service: Service;
let ann: Person;
let bob: Person;
let browser: Browser;
let project: number;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann', PASSWORD);
  bob = await service.person('bob', PASSWORD);
  browser = await signedIn(service, ann.user);
});
afterAll(() => service?.close());
beforeEach(async () => {
  project = await service.project(ann);
  const member = { username: 'bob', access_level: 30 };
  await service.api(ann, 'POST', `/projects/${project}/members`, member);
});

const list = () => `/projects/${project}/escalation`;
const user = (person: Person) => `user:${person.user.id}`;
const policies = async () => (await service.api(ann, 'GET', `/projects/${project}/escalation_policies`)).body;
const NUMBERS = { repeats: '1', reminder_hours: '4', ack_timeout_minutes: '0' };
const twoSteps = () => ({
  ...NUMBERS,
  ...{ name: 'Night', steps: '2', 'delay-0': '10', 'delay-1': '30', 'important-1': 'on' },
  ...{ 'target-0': [user(bob), ''], 'target-1': [user(ann), user(bob), ''] },
});
const shownSteps = (body: string) =>
  [...body.slice(body.indexOf('<ol class="steps">')).matchAll(/<li>([\s\S]*?)<\/li>/g)].map(([, text = '']) =>
    text.replace(/<[^>]*>/g, '').trim(),
  );

test('a policy is added step by step, and new alerts are led to it', async () => {
  const { body: empty } = await browser.get(list());
  expect(empty).toContain('New alerts page nobody.');
  expect(empty).toContain('nobody is paged by e-mail');
  const one = { ...twoSteps(), steps: '1', do: 'add', route: 'on' };
  const { body: two } = await browser.submit(`${list()}/new`, `${list()}/new`, one);
  expect(two).toContain('name="steps" value="2"');
  expect(two).toContain('<h2>Step 2</h2>');
  expect(two).toContain('value="Night"');
  expect(two).toContain(`<option value="${user(bob)}" selected>@bob</option>`);
  expect(two).toMatch(/name="route" value="on" checked/);
  expect(await policies()).toEqual([]);
  const added = { ...twoSteps(), route: 'on' };
  const { body } = await browser.submitAndFollow(`${list()}/new`, `${list()}/new`, added);
  expect(body).toContain('The policy Night was added. Alerts that no other route takes page by this policy.');
  expect(body).not.toContain('page nobody.');
  expect(shownSteps(body)).toEqual([
    expect.stringMatching(/^@bob +then 10 min$/),
    expect.stringMatching(/^@ann, @bob important then 30 min$/),
  ]);
  expect(body).toContain('@bob, @ann have no verified contact');
  const [policy] = await policies();
  const routes = await service.api(ann, 'GET', `/projects/${project}/alert_routes`);
  expect(routes.body).toMatchObject([{ name: 'default', policy_id: policy.id, delay_seconds: 0 }]);
});

test('steps are moved, removed and given more targets without a script', async () => {
  const edit = async (what: string) =>
    (await browser.submit(`${list()}/new`, `${list()}/new`, { ...twoSteps(), do: what })).body;
  const chosen = (body: string) =>
    [...body.matchAll(/name="target-(\d)"[\s\S]*?<\/select>/g)].map(
      ([all, i]) => `${i} ${/value="([^"]*)" selected/.exec(all)?.[1]}`,
    );
  const [a, b] = [user(ann), user(bob)];
  expect(chosen(await edit('up-1'))).toEqual([`0 ${a}`, `0 ${b}`, '0 ', `1 ${b}`, '1 ']);
  expect(chosen(await edit('remove-0'))).toEqual([`0 ${a}`, `0 ${b}`, '0 ']);
  expect(chosen(await edit('more-0'))).toEqual([`0 ${b}`, '0 ', `1 ${a}`, `1 ${b}`, '1 ']);
});

test('a refused policy comes back with its input, and the cursor in the field at fault', async () => {
  const refused = async (fields: object) => {
    const { statusCode, body } = await browser.submit(`${list()}/new`, `${list()}/new`, {
      ...twoSteps(),
      ...fields,
    });
    const [field = ''] = /<(?:input|select)[^>]*aria-invalid="true"[^>]*>/.exec(body) ?? [];
    const fault = plain(/<p class="fault"[^>]*>([^<]*)</.exec(body)?.[1] ?? '');
    expect(fault).not.toBe('');
    return [statusCode, / name="([^"]*)"/.exec(field)?.[1], field.includes(' autofocus')];
  };
  expect(await refused({ name: ' ' })).toEqual([422, 'name', true]);
  expect(await refused({ 'delay-1': '' })).toEqual([422, 'delay-1', true]);
  expect(await refused({ 'target-1': '' })).toEqual([422, 'target-1', true]);
  expect(await refused({ 'target-0': 'user:999' })).toEqual([422, 'target-0', true]);
  expect(await refused({ repeats: '99' })).toEqual([422, 'repeats', true]);
  expect(await policies()).toEqual([]);
});

test('a schedule is a target, and is kept while a policy uses it', async () => {
  const path = `/projects/${project}/oncall_schedules`;
  const { body: schedule } = await service.api(ann, 'POST', path, {
    name: 'Primary',
    time_zone: 'Europe/Berlin',
  });
  expect((await browser.get(`${list()}/new`)).body).toContain('<optgroup label="Schedules">');
  const fields = { ...twoSteps(), 'target-0': `schedule:${schedule.id}` };
  const { body } = await browser.submitAndFollow(`${list()}/new`, `${list()}/new`, fields);
  expect(shownSteps(body)[0]).toMatch(/^Primary +then/);
  const kept = await service.api(ann, 'DELETE', `${path}/${schedule.id}`);
  expect(kept).toMatchObject({ status: 409, body: { message: expect.stringContaining('Night') } });
});

test('the route is changed with its delay, but not over the change of somebody else', async () => {
  const steps = [{ targets: [{ type: 'user', id: bob.user.id }], delay_minutes: 5 }];
  const path = `/projects/${project}/escalation_policies`;
  const { body: policy } = await service.api(ann, 'POST', path, { name: 'Day', steps });
  const { body: before } = await browser.get(list());
  const change = { policy: policy.id, delay: '60' };
  const changed = await browser.submitAndFollow(list(), `${list()}/route`, change);
  expect(changed.body).toContain('Changes saved.');
  const hidden = Object.fromEntries(
    [...before.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value,
    ]),
  );
  const late = await browser.post(`${list()}/route`, { ...hidden, policy: '', delay: '0' });
  expect((await browser.get(String(late.headers.location))).body).toContain('The routes were changed');
  expect((await service.api(ann, 'GET', `/projects/${project}/alert_routes`)).body).toMatchObject([
    { name: 'default', policy_id: policy.id, delay_seconds: 60 },
  ]);
  const one = `${list()}/${policy.id}`;
  const kept = await browser.submit(`${one}/delete`, `${one}/delete`, { confirmed: 'yes' });
  expect([kept.statusCode, kept.body.includes('Routes lead to Day')]).toEqual([422, true]);
  await browser.submit(list(), `${list()}/route`, { policy: '', delay: '0' });
  const gone = await browser.submitAndFollow(`${one}/delete`, `${one}/delete`, { confirmed: 'yes' });
  expect(gone.body).toContain('Policy deleted.');
  expect(await policies()).toEqual([]);
});

test('a policy is edited, and one of its people who left is shown as such', async () => {
  await browser.submit(`${list()}/new`, `${list()}/new`, twoSteps());
  const [{ id }] = await policies();
  const renamed = { ...twoSteps(), name: 'Weekend', steps: '1' };
  const saved = await browser.submitAndFollow(`${list()}/${id}`, `${list()}/${id}`, renamed);
  expect(saved.body).toContain('Changes saved.');
  expect(await policies()).toMatchObject([
    { id, name: 'Weekend', repeats: 1, steps: [{ delay_minutes: 10 }] },
  ]);
  await service.api(ann, 'DELETE', `/projects/${project}/members/${bob.user.id}`);
  expect((await browser.get(list())).body).toContain('no longer available');
  const page = (await browser.get(`${list()}/${id}`)).body;
  expect(page).toContain(`<option value="${user(bob)}" selected>No longer available</option>`);
});

test('Developers read it, and change nothing', async () => {
  await browser.submit(`${list()}/new`, `${list()}/new`, { ...twoSteps(), route: 'on' });
  const other = await signedIn(service, bob.user);
  const { statusCode, body } = await other.get(list());
  expect(statusCode).toBe(200);
  expect(body).toContain('Night');
  expect(body).not.toMatch(/escalation\/new|escalation\/route|>Edit</);
  expect((await other.get(`${list()}/new`)).statusCode).toBe(403);
  const { statusCode: refused } = await other.submit(list(), `${list()}/new`, twoSteps());
  expect(refused).toBe(403);
});

test('while an on-call tool gets the alerts, the page says so', async () => {
  const link = { type: 'ONCALL', active: true, name: 'Tool', api_url: 'https://oncall.example' };
  await service.api(ann, 'POST', `/projects/${project}/integrations`, link);
  expect((await browser.get(list())).body).toContain('is active and receives all alerts');
});
