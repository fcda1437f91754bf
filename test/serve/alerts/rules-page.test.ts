import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatPath, parsePaths } from '../../../serve/alerts/integrations/path-syntax.ts';
import { PRESETS } from '../../../serve/alerts/integrations/presets/presets.ts';
import type { RequestRefused } from '../../../serve/alerts/model/access.ts';
import { fieldOf, rulesOfTexts, textsOfRules } from '../../../serve/alerts/pages/rules-form.ts';
import { type Browser, plain } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { Service, type Source } from './service.ts';

describe('paths as texts', () => {
  test.each([
    ['a', [['a']]],
    ['a.b[0].c', [['a', 'b', 0, 'c']]],
    ['a[0][12]', [['a', 0, 12]]],
    ['"a.b"."c d".e', [['a.b', 'c d', 'e']]],
    ['"say \\"hi\\"", x', [['say "hi"'], ['x']]],
    ['a , b.c,d', [['a'], ['b', 'c'], ['d']]],
    ['großes.日本', [['großes', '日本']]],
    ['', []],
  ])('%s', (text, paths) => {
    expect(parsePaths(text)).toEqual(paths);
    expect(parsePaths(paths.map(formatPath).join(', '))).toEqual(paths);
  });

  test.each(['.', 'a.', '.a', 'a..b', 'a b', 'a,', ',a', 'a,,b', 'a[', 'a[x]', 'a[-1]', '"a', 'a"b"', 'a=b'])(
    '%s is none',
    (text) => {
      expect(parsePaths(text)).toBeNull();
    },
  );
});

test.each(PRESETS)('the rules of $name are the same after they were shown and entered again', ({ rules }) => {
  expect(rulesOfTexts(textsOfRules(rules))).toEqual(rules);
});

test('equals signs are parts of words and of names in quotes', () => {
  const severity = { path: ['a'], words: { 'level=1': 'low' }, otherwise: 'info' } as const;
  const rules = { severity, labels: { team: ['x=y'] } };
  expect(rulesOfTexts(textsOfRules(rules))).toEqual(rules);
});

test('a blank form has no rules', () => {
  expect(rulesOfTexts(textsOfRules({}))).toEqual({});
});

test.each([
  ['resolved', 'ok', 'status_path'],
  ['status_path', 'a b', 'status_path'],
  ['status_path', 'a, b', 'status_path'],
  ['status_path', 'a.__proto__', 'status_path'],
  ['severity_words', 'P1 = critical', 'severity_path'],
  ['severity_words', 'P1 critical', 'severity_words'],
  ['labels', 'team', 'labels'],
  ['labels', 'team = a, b', 'labels'],
  ['labels', 'a b = c', 'labels'],
  ['labels', 'team = a=b', 'labels'],
  ['fingerprint', 'a\nb..c', 'fingerprint'],
  ['fields', 'colour = a', 'fields'],
])('%s %j is refused at the field %s', (field, text, at) => {
  const refusalOf = () => {
    try {
      return rulesOfTexts({ ...textsOfRules({}), [field]: text });
    } catch (error) {
      return fieldOf(error as RequestRefused);
    }
  };
  expect(refusalOf()).toBe(at);
});

describe('the page', () => {
  let service: Service;
  let browser: Browser;
  let source: Source;
  let path: string;
  beforeAll(async () => {
    service = await Service.open();
    const ann = await service.person('ann', PASSWORD);
    browser = await signedIn(service, ann.user);
    const project = await service.project(ann);
    source = await service.source(ann, project);
    path = `/projects/${project}/integrations/${source.id}`;
    for (const state of ['down', 'starting', 'down', 'up'])
      await service.send(source, { title: `Shop is ${state}`, state, id: 7, level: 'P2', owner: 'ops' });
  });
  afterAll(() => service?.close());

  const entered = {
    ...textsOfRules({}),
    ...{ status_path: 'state', resolved: 'UP', ignored: 'starting', fingerprint: 'id' },
    ...{ severity_path: 'level', severity_words: 'P2 = high', labels: 'team = owner' },
  };

  test('tries rules on the last deliveries, the newest first, and changes nothing', async () => {
    const { statusCode, body } = await browser.submit(`${path}/rules`, `${path}/rules`, {
      ...entered,
      step: 'try',
    });
    expect(statusCode).toBe(200);
    const rows = [...body.matchAll(/<tr>(?:(?!<\/tr>)[\s\S])*<\/tr>/g)].map(([row]) => plain(row)).slice(1);
    expect(rows.map((row) => /class="tag">(\w+)</.exec(row)?.[1])).toEqual([
      ...['resolved', 'grouped', 'ignored', 'created'],
    ]);
    for (const text of ['Shop is up', 'high', 'team=ops']) expect(rows[0]).toContain(text);
    expect(body).toContain('>UP</textarea>');
    expect((await browser.get(`${path}/rules`)).body).not.toContain('>UP</textarea>');
  });

  test('saves them, and the page of the integration says what they are', async () => {
    const saved = await browser.submitAndFollow(`${path}/rules`, `${path}/rules`, {
      ...entered,
      step: 'save',
    });
    expect(saved.body).toContain('Rules saved.');
    expect(saved.body).toContain('>UP</textarea>');
    const { body } = await browser.get(path);
    for (const text of ['P2 is high; otherwise critical', '<dd>starting</dd>', 'team: owner'])
      expect(body).toContain(text);
    expect((await service.send(source, { state: 'starting' })).body).toEqual([]);
  });

  test('shows a refused rule with what was entered', async () => {
    const wrong = { ...entered, labels: 'team' };
    const { statusCode, body } = await browser.submit(`${path}/rules`, `${path}/rules`, {
      ...wrong,
      step: 'save',
    });
    expect(statusCode).toBe(422);
    expect(body).toMatch(/<textarea id="labels"[^>]* aria-invalid="true"[^>]*>team<\/textarea>/);
    expect(plain(body)).toContain('Enter “team” as name = value.');
  });

  test('a preset is chosen with a new integration, and a signing one asks for its secret', async () => {
    const list = path.replace(/\/\w+$/, '');
    const made = await browser.submitAndFollow(list, list, { type: 'http', preset: 'sentry', name: '' });
    for (const text of ['<h1>Sentry</h1>', 'Internal Integration', 'For payloads of Sentry.'])
      expect(made.body).toContain(text);
    const [, one = ''] = /href="([^"]*)\/secret"/.exec(made.body) ?? [];
    const page = `${one}/secret`;
    const refused = await browser.submit(page, page, { secret: 'short' });
    expect(refused.statusCode).toBe(422);
    expect(refused.body).toMatch(/<input id="secret"[^>]* aria-invalid="true"/);
    const secret = '0123456789abcdef0123456789abcdef';
    expect((await browser.submitAndFollow(page, page, { secret })).body).toContain('Secret saved.');
  });
});
