import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Browser, type Fields, plain } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { type Person, Service, type Source } from './service.ts';

let service: Service;
let ann: Person;
let browser: Browser;
let project: number;
let source: Source;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann', PASSWORD);
  browser = await signedIn(service, ann.user);
});
afterAll(() => service?.close());
beforeEach(async () => {
  project = await service.project(ann);
  source = await service.source(ann, project);
  await service.send(source, { title: 'written about' });
});

/** What a form shows after it was refused: its page, and the field at fault. */
async function refused(page: string, action: string, fields: Fields) {
  const { statusCode, body } = await browser.submit(page, action, fields);
  const [field = ''] = /<(?:input|textarea)[^>]*aria-invalid="true"[^>]*>/.exec(body) ?? [];
  const [, name] = / name="([^"]*)"/.exec(field) ?? [];
  const [, fault = ''] = /<p class="fault"[^>]*>([^<]*)</.exec(body) ?? [];
  return { statusCode, body, name, hasFocus: field.includes(' autofocus'), fault: plain(fault) };
}
const alert = () => `/projects/${project}/alerts/1`;

describe('a refused form comes back with its input, and the cursor in the field at fault', () => {
  test.each([
    ['empty', '  ', 'Enter a note.'],
    ['too long', 'long '.repeat(2001), 'Enter at most 10000 characters.'],
  ])('a note that is %s', async (_what, text, fault) => {
    const shown = await refused(alert(), `${alert()}/notes`, { body: text });
    expect(shown).toMatchObject({ statusCode: 422, name: 'body', hasFocus: true, fault });
    expect(shown.body).toContain(`>${text}</textarea>`);
    expect(shown.body).toContain('<h1>written about</h1>');
    expect((await browser.submitAndFollow(alert(), `${alert()}/notes`, { body: 'short' })).body).toContain(
      'Note added.',
    );
  });

  test('a new member', async () => {
    const path = `/projects/${project}/members`;
    const shown = await refused(path, `${path}/add`, { user: 'nobody "here"', level: '20' });
    expect(shown).toMatchObject({
      statusCode: 422,
      name: 'user',
      hasFocus: true,
      fault: 'No account has this username. Ask the person to sign up first.',
    });
    expect(plain(shown.body)).toContain('value="nobody "here""');
    const [add = ''] = /<form[^>]*members\/add"[\s\S]*?<\/form>/.exec(shown.body) ?? [];
    expect(add).toContain('<option value="20" selected>Reporter</option>');
    const again = await refused(path, `${path}/add`, { user: 'ann', level: '20' });
    expect(again).toMatchObject({ name: 'user', fault: 'Member already exists' });
  });

  test('a filter of the list of alerts', async () => {
    const list = `/projects/${project}/alerts`;
    const name = `${'long '.repeat(12)}"name"`;
    const back = 'status=resolved&search=disk';
    const shown = await refused(`${list}?${back}`, `${list}/filters`, { name, back, default: 'on' });
    expect(shown).toMatchObject({
      ...{ statusCode: 422, name: 'name', hasFocus: true },
      fault: 'Enter at most 60 characters.',
    });
    expect(plain(shown.body)).toContain(`value="${name}"`);
    expect(shown.body).toContain('<details open>');
    expect(shown.body).toContain('name="default" value="on" checked');
    // The list is still the one that the filter is of.
    expect(shown.body).toContain('name="back" value="status=resolved&#38;search=disk"');
  });

  test('the settings of a project', async () => {
    const path = `/projects/${project}/settings`;
    const shown = await refused(path, path, { name: ' ', makes_incidents: 'on', plan: 'free' });
    expect(shown).toMatchObject({ statusCode: 422, name: 'name', hasFocus: true, fault: 'Enter a name.' });
    expect(shown.body).toContain('name="makes_incidents" value="on" checked');
    expect(shown.body).toContain('name="closes_incidents" value="on">');
    expect(shown.body).toContain('<option value="free" selected>');
    expect((await service.api(ann, 'GET', `/projects/${project}`)).body).toMatchObject({ plan: 'premium' });
  });

  test('the settings of an integration', async () => {
    const path = `/projects/${project}/integrations/${source.id}`;
    const shown = await refused(path, `${path}/save`, { name: 'Another', heartbeat: '5 min' });
    expect(shown).toMatchObject({ statusCode: 422, name: 'heartbeat', hasFocus: true });
    expect(shown.fault).toContain('minutes');
    for (const kept of ['value="Another"', 'value="5 min"', 'name="active" value="on">'])
      expect(shown.body).toContain(kept);
  });
});

test('an alert that cannot be reopened says so on its page', async () => {
  await service.send(source, { title: 'written about', end_time: '2026-11-21' });
  await service.send(source, { title: 'written about' });
  const page = await browser.submitAndFollow(alert(), `${alert()}/status`, { status: 'triggered' });
  expect(page.statusCode).toBe(200);
  expect(page.body).toMatch(/<p class="note bad"[^>]*>Another unresolved alert has the same fingerprint/);
});
