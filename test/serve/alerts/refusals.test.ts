import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { Refusals } from '../../../serve/alerts/intake/refusals.ts';
import { alertRefusals } from '../../../serve/alerts/model/tables.ts';
import { until } from '../../infra/ports/opened.ts';
import { type Browser, plain } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { firing, prometheusBody } from './made.ts';
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
  project = await service.project(ann);
});
beforeEach(async () => {
  source = await service.source(ann, project, { name: 'Refuses' });
});
afterAll(() => service?.close());

const pageOf = async ({ id }: Source) => (await browser.get(`/projects/${project}/integrations/${id}`)).body;

/** The rows of the card: status, reason and count. */
async function shownOf(of: Source): Promise<string[][]> {
  const [, card = ''] = /data-part="refusals">([\s\S]*?)<\/section>/.exec(await pageOf(of)) ?? [];
  const rows = [...card.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row = '']) =>
    [...row.matchAll(/<td[^>]*>([\s\S]*?)<\/td>/g)].map(([, cell = '']) =>
      plain(cell.replace(/<[^>]+>/g, '')).trim(),
    ),
  );
  return rows.filter((row) => row.length === 3);
}
const SECRET = 'hunter2-of-the-payload';

describe('a request with the key that is refused', () => {
  test.each<[string, string, RegExp, unknown, Record<string, string>]>([
    ['no JSON', '400', /not JSON/, `{"password":"${SECRET}"`, {}],
    ['no UTF-8', '400', /UTF-8/, Buffer.from([0x22, 0xff, 0x22]), {}],
    ['no object', '422', /JSON object/, `"${SECRET}"`, {}],
    ['an item without a title', '422', /alerts\[0\]: title/, prometheusBody([{ secret: SECRET }]), {}],
    ['an item without a start', '422', /startsAt/, prometheusBody([firing({ startsAt: SECRET })]), {}],
    ['too much', '413', /ALERT_BODY_BYTES_MAX/, SECRET.repeat(60_000), {}],
    ['another type', '415', /Content-Type/, SECRET, { 'content-type': `text/${SECRET}` }],
    ['a compressed body', '415', /Content-Encoding/, SECRET, { 'content-encoding': 'gzip' }],
  ])('for %s is counted with its reason', async (_what, status, reason, body, headers) => {
    const sent = await service.send(source, body, headers);
    await service.send(source, body, headers);
    expect(String(sent.status)).toBe(status);
    await until('both are counted', async () => (await shownOf(source))[0]?.[2] === '2');
    const shown = await shownOf(source);
    expect(shown).toEqual([[status, expect.stringMatching(reason), '2']]);
    expect(await pageOf(source)).not.toContain(SECRET);
  });

  test('because the integration is inactive is counted', async () => {
    await service.api(ann, 'PUT', `/projects/${project}/integrations/${source.id}`, { active: false });
    await service.send(source, { title: 'refused' });
    await until('it is counted', async () => (await shownOf(source)).length === 1);
    expect(await shownOf(source)).toEqual([['403', expect.stringContaining('inactive'), '1']]);
  });

  test('is counted for its own integration only, and an accepted one for none', async () => {
    const other = await service.source(ann, project, { name: 'Other' });
    await service.send(source, { title: 'accepted' });
    await service.send(other, '{');
    await until('it is counted', async () => (await shownOf(other)).length === 1);
    expect(await shownOf(source)).toEqual([]);
    expect(await pageOf(source)).toContain('No refused requests.');
  });
});

describe('a request without the key', () => {
  test.each<[string, string, Record<string, string>]>([
    ['a wrong one', `${SECRET}`, {}],
    ['none', '', { authorization: '' }],
    ['the key of another integration', 'other', {}],
  ])('but %s raises one count, whatever else is wrong with it', async (_what, key, headers) => {
    const of = { ...source, key };
    for (const body of ['{broken', 'x'.repeat(2 ** 21), { title: SECRET }, prometheusBody([])])
      expect((await service.send(of, body, headers)).status).toBe(401);
    await until('all are counted', async () => (await shownOf(source))[0]?.[2] === '4');
    expect(await shownOf(source)).toEqual([['401', 'The key is missing or wrong.', '4']]);
    expect(await pageOf(source)).not.toContain(SECRET);
  });

  test('does not change what is shown of those that have it', async () => {
    await service.send(source, '{', { 'content-type': 'text/plain' });
    await until('it is counted', async () => (await shownOf(source)).length === 1);
    const [before] = await shownOf(source);
    for (let i = 0; i < 5; i++)
      await service.send({ ...source, key: 'wrong' }, '{', { 'content-type': 'text/plain' });
    await until('all are counted', async () => (await shownOf(source)).length === 2);
    const shown = await shownOf(source);
    expect(shown).toContainEqual(before);
    expect(shown).toContainEqual(['415', expect.stringContaining('no valid key'), expect.any(String)]);
  });

  test('of an integration that is not there is not stored', async () => {
    const unknown = { path: '/alerts/0123456789abcdef/notify.json', key: 'any' };
    expect((await service.send(unknown, {})).status).toBe(401);
    await service.send(source, '{');
    await until('a later one is counted', async () => (await shownOf(source)).length === 1);
    const { store } = service.pipeline.runtime;
    const refusals = new Refusals({ store, clock: { now: Date.now } });
    expect(await refusals.latest('0123456789abcdef')).toEqual([]);
  });
});

describe('a flood', () => {
  const refusal = (code: string) => ({ status: 400, code, message: 'm'.repeat(5000) });

  test('of any number of requests is one row for each reason at a time', async () => {
    const { store } = service.pipeline.runtime;
    let now = Date.now();
    const refusals = new Refusals({ store, clock: { now: () => now } });
    for (let i = 0; i < 10_000; i++) refusals.add('flooded', refusal(`code ${i % 3}`));
    await refusals.flush();
    await refusals.flush();
    now += 1000;
    refusals.add('flooded', refusal('code 1'));
    const rows = await store.rows<{ rows: number; longest: number }>(
      sql`SELECT count() AS rows, max(length(message)) AS longest FROM ${alertRefusals} WHERE integration = 'flooded'`,
    );
    expect(rows).toEqual([{ rows: 3, longest: 300 }]);
    expect(await refusals.latest('flooded')).toMatchObject([
      { code: 'code 1', count: 3334, last: now },
      { count: expect.any(Number), last: now - 1000 },
      { count: expect.any(Number), last: now - 1000 },
    ]);
    now += 8 * 86_400_000;
    await refusals.flush();
    expect(await refusals.latest('flooded')).toEqual([]);
  });

  test('while the store is away is counted when it is back', async () => {
    const { store } = service.pipeline.runtime;
    let isAway = true;
    const failing = {
      rows: store.rows.bind(store),
      insert: async (...args: Parameters<typeof store.insert>) => {
        if (isAway) throw new Error('away');
        return store.insert(...args);
      },
    };
    const refusals = new Refusals({ store: failing as never, clock: { now: Date.now } });
    for (let i = 0; i < 3; i++) {
      refusals.add('away', refusal('a'));
      await expect(refusals.flush()).rejects.toThrow('away');
    }
    isAway = false;
    await refusals.flush();
    expect(await refusals.latest('away')).toMatchObject([{ code: 'a', count: 3 }]);
  });
});
