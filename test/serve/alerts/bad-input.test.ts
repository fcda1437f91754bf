import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { alertEvents } from '../../../aggregate/alerts/model/tables.ts';
import { sql } from '../../../infra/sql.ts';
import { firing, prometheusBody } from './made.ts';
import { type Person, Service, type Source } from './service.ts';

let service: Service;
let ann: Person;
let project: number;
let source: Source;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann');
  project = await service.project(ann);
  source = await service.source(ann, project);
});
afterAll(() => service?.close());

const alertsOf = async (search: string) =>
  (await service.api(ann, 'GET', `/projects/${project}/alerts?search=${encodeURIComponent(search)}`)).body;

describe('bad input', () => {
  const BROKEN: [string, string | Buffer][] = [
    ['nothing', ''],
    ['a lone brace', '{'],
    ['a trailing comma', '{"title":"x",}'],
    ['single quotes', "{'title':'x'}"],
    ['a raw NUL in a text', '{"title":"a\0b"}'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc3, 0x28, 0x22, 0x7d])],
    ['UTF-16', Buffer.from('{"title":"x"}', 'utf16le')],
    ['NaN', '{"title":NaN}'],
    ['a bomb of lists that is cut short', '['.repeat(500_000)],
    ['deep lists that end within a text', `${'['.repeat(1000)}"]`],
  ];
  test.each(BROKEN)('%s is 400', async (_name, body) => {
    expect(await service.send(source, body)).toMatchObject({ status: 400, body: { error: 'invalid_json' } });
  });

  const SHAPELESS: [string, string][] = [
    ['a list', '[{"title":"x"}]'],
    ['a text', '"x"'],
    ['a number', '1'],
    ['null', 'null'],
    ['lists within lists', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`],
    ['a bomb of lists', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
    ['a bomb of objects', `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`],
  ];
  test.each(SHAPELESS)('%s is 422', async (_name, body) => {
    expect(await service.send(source, body)).toMatchObject({
      status: 422,
      body: { error: 'invalid_payload' },
    });
  });

  const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, i]));

  test('a million labels are too large a body', async () => {
    const body = JSON.stringify(prometheusBody([firing({ labels: labels(1_000_000) })]));
    expect(await service.send(source, body)).toMatchObject({
      status: 413,
      body: { error: 'payload_too_large' },
    });
  });

  const ODD: [string, string][] = [
    ['99 levels', `{"title":"deep","a":${'['.repeat(99)}${']'.repeat(99)}}`],
    ['brackets in texts', JSON.stringify({ title: 'brackets', a: '['.repeat(5000) })],
    ['as many values as fit', JSON.stringify({ title: 'values', ...labels(60_000) })],
    [
      'as many labels as fit',
      JSON.stringify(
        prometheusBody([firing({ fingerprint: '', labels: { alertname: 'labels', ...labels(60_000) } })]),
      ),
    ],
    [
      'items that began in year 1 and in year 9999',
      JSON.stringify(
        prometheusBody([
          firing({ fingerprint: 'eeeeeeeeeeeeeee1', startsAt: '0001-01-01T00:00:00Z' }),
          firing({ fingerprint: 'eeeeeeeeeeeeeee2', startsAt: '9999-12-31T23:59:59Z' }),
        ]),
      ),
    ],
    ['whitespace around and within', ' \r\n{\n  "title": "spaces",\t"a": [ 1,\n 2 ]\n} \n'],
    ['an escaped NUL', '{"title":"a\\u0000b"}'],
    ['half a surrogate pair', '{"title":"a\\ud800b","\\udc00":1}'],
    ['huge numbers', '{"title":"numbers","a":1e400,"b":-1e-400,"c":123456789012345678901234567890}'],
    [
      'keys of objects themselves',
      '{"title":"keys","__proto__":{"x":1},"constructor":{"prototype":1},"toString":"x"}',
    ],
    ['keys twice', '{"title":"first","title":"second"}'],
    ['a byte order mark', '\ufeff{"title":"mark"}'],
    [
      'dates of year 1 and 9999',
      '{"title":"dates","start_time":"0001-01-01T00:00:00Z","end_time":"9999-12-31T23:59:59Z"}',
    ],
    ['SQL', `{"title":"'; DROP TABLE alerts; --","service":"\\\\'","fingerprint":"') OR 1=1"}`],
    ...[
      '"text"',
      '1',
      '1.5',
      'true',
      'false',
      'null',
      '[]',
      '["a",1,null]',
      '{}',
      '{"a":1}',
      '""',
      '1e999',
    ].map((value): [string, string] => [
      `a fingerprint of ${value}`,
      `{"title":"print","fingerprint":${value}}`,
    ]),
  ];
  test.each(ODD)('%s is accepted', async (_name, body) => {
    expect((await service.send(source, body)).status).toBe(200);
  });

  test('texts are returned as they were sent', async () => {
    const title = `'"\\; ünï 🦀 <b>&amp;</b> `;
    const { body } = await service.send(source, { title, description: 'a\nb\r\nc', hosts: ["h'1", 'h"2'] });
    const { body: alert } = await service.api(ann, 'GET', `/projects/${project}/alerts/${body[0].iid}`);
    expect(alert).toMatchObject({ title, description: 'a\nb\r\nc', hosts: ["h'1", 'h"2'] });
    expect(alert.payload).toMatchObject({ title });
  });

  test.each([
    ['on one line', '{"title":"stored 1","a":{"b":[1,"}{"]},"n":12345678901234567890.5}'],
    ['on many lines', '{\n "title": "stored 2",\r\n "u": "\\ud83d\\ude00 \\u0000 ü 🦀"\n}\n'],
    ['with keys twice', '{"title":"stored 3","a":1,"a":2}'],
  ])('a body %s is stored unchanged', async (_name, body) => {
    await service.send(source, body);
    await alertsOf('stored');
    const rows = await service.pipeline.runtime.store.rows<{ body: string }>(
      sql`SELECT body FROM ${alertEvents} WHERE project = ${project} ORDER BY position DESC LIMIT 1`,
    );
    expect(rows[0]?.body).toBe(body);
  });

  test('of a body with invalid items the valid ones are accepted, the others are one dead letter', async () => {
    const body = prometheusBody([
      firing({ fingerprint: 'cccccccccccccccc', annotations: { title: 'good one' } }),
      { status: 'firing' },
      null,
      firing({ fingerprint: 'dddddddddddddddd', annotations: { title: 'good two' } }),
    ]);
    expect((await service.send(source, body)).body.map(({ title }: { title: string }) => title)).toEqual([
      'good one',
      'good two',
    ]);
    expect(await alertsOf('good one')).toHaveLength(1);
    const deadLetters = async () => (await service.app.inject('/api/status')).json().dead_letters;
    await expect.poll(async () => (await deadLetters()).total).toBe(1);
    expect((await deadLetters()).latest[0].reason).toMatch(
      /^2 of 4 alerts are refused: alerts\[1\]: title: .* is required; alerts\[2\]: expected an object$/,
    );
  });

  test('a body of invalid items only is 422 with the reason of each', async () => {
    const { status, body } = await service.send(source, prometheusBody([{}, 1]));
    expect(status).toBe(422);
    expect(body.message).toContain('alerts[0]: title');
    expect(body.message).toContain('alerts[1]: expected an object');
  });
});

describe('names that members enter', () => {
  const HIDDEN = ' a\u202e\u200b\u3164b\u0000\u034f\u2028\ud800\u2800 ';
  const SHOWN = 'ab \ufffd';

  test('lose what is not seen, or turns the text around them', async () => {
    const at = `/projects/${project}`;
    const api = async (method: 'POST' | 'PUT', path: string, body: object) =>
      (await service.api(ann, method, path, body)).body;
    const named = await api('POST', '/projects', { name: HIDDEN });
    expect(named.name).toBe(SHOWN);
    expect((await service.api(ann, 'GET', `/projects/${named.id}`)).body.name).toBe(SHOWN);
    expect((await api('PUT', `/projects/${named.id}`, { name: HIDDEN })).name).toBe(SHOWN);
    const integration = await api('POST', `${at}/integrations`, { type: 'HTTP', name: HIDDEN });
    expect(integration.name).toBe(SHOWN);
    const hook = await api('POST', `${at}/hooks`, { name: HIDDEN, url: 'https://hook.example/' });
    expect(hook.name).toBe(SHOWN);
    const [alert] = (await service.send(source, { title: 'with an incident' })).body;
    const incident = await api('POST', `${at}/alerts/${alert.iid}/incident`, {});
    expect((await api('PUT', `${at}/incidents/${incident.iid}`, { title: HIDDEN })).title).toBe(SHOWN);
    expect((await service.api(ann, 'GET', `${at}/incidents/${incident.iid}`)).body.title).toBe(SHOWN);
  });

  test.each(['\u202e\u0000 ', '\u3164', '\u2800 \uffa0', '\u200b\u034f\u{e0041}', '\u200d\ufe0f'])(
    'are refused where nothing of them is seen: %j',
    async (name) => {
      for (const [method, path, body] of [
        ['POST', '/projects', { name }],
        ['PUT', `/projects/${project}`, { name }],
        ['POST', `/projects/${project}/integrations`, { type: 'HTTP', name }],
        ['PUT', `/projects/${project}/integrations/${source.id}`, { name }],
      ] as const) {
        const answer = await service.api(ann, method, path, body);
        expect([path, answer.status, Object.keys(answer.body.errors ?? {})]).toEqual([path, 400, ['name']]);
      }
    },
  );
});

test.each([
  ['a project without a name', 'POST', '', {}, 'name', 'missing'],
  ['a name that is a number', 'POST', '', { name: 5 }, 'name', 'not text'],
  ['a name that is too long', 'POST', '', { name: 'x'.repeat(256) }, 'name', 'more than 255 characters'],
  ['an unknown plan', 'POST', '', { name: 'x', plan: 'gold' }, 'plan', 'not one of free, premium'],
  ['a body that is a list', 'POST', '', [], 'body', 'not an object'],
  ['an unknown order', 'GET', '/1/alerts?sort=up', undefined, 'sort', 'not one of asc, desc'],
] as const)('the API refuses %s in words', async (_title, method, path, sent, field, fault) => {
  expect(await service.api(ann, method, `/projects${path}`, sent)).toMatchObject({
    status: 400,
    body: { message: `400 Bad request: ${field} ${fault}`, errors: { [field]: [fault] } },
  });
});

describe('an empty body of the type application/json', () => {
  const ask = async (method: 'DELETE' | 'POST' | 'PUT', path: string) => {
    const headers = { authorization: `Bearer ${ann.token}`, 'content-type': 'application/json' };
    const url = `/api/v4${path}`;
    return (await service.app.inject({ method, url, headers, payload: '' })).statusCode;
  };

  test('is none: operations without a body are carried out, others say that they need one', async () => {
    const own = await service.project(ann);
    const { id } = await service.source(ann, own);
    const one = `/projects/${own}/integrations/${id}`;
    expect(await ask('POST', `${one}/reset_key`)).toBe(200);
    expect(await ask('POST', `${one}/rotate_key`)).toBe(200);
    expect(await ask('DELETE', one)).toBe(204);
    expect(await ask('PUT', `/projects/${own}`)).toBe(400);
    expect(await ask('POST', '/projects')).toBe(400);
    expect(await ask('DELETE', `/projects/${own}`)).toBe(204);
  });
});

test('half a character in a text of the API is answered as it is stored', async () => {
  const [half, shown] = ['x \ud83d y', 'x \ufffd y'];
  const own = await service.project(ann, { description: half });
  const path = `/projects/${own}`;
  await service.send(await service.source(ann, own), { title: 'written about' });
  const ask = async (method: 'POST' | 'PUT' | 'GET', of: string, body?: object) =>
    (await service.api(ann, method, `${path}${of}`, body)).body;
  expect((await ask('GET', '')).description).toBe(shown);
  expect((await ask('PUT', '', { description: half })).description).toBe(shown);
  expect((await ask('POST', '/alerts/1/notes', { body: half })).body).toBe(shown);
  await ask('POST', '/alerts/1/incident');
  expect((await ask('PUT', '/incidents/1', { description: half })).description).toBe(shown);
  const { url } = await ask('POST', '/hooks', { url: 'https://tool.example/?q=\ud83d' });
  expect(url.isWellFormed()).toBe(true);
});
