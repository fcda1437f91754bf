import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { ALICE, batch, Writer } from '../../aggregate/metrics/governance/story.ts';
import { shapeCall } from '../../reference/shaped.ts';
import { ingestAndCompute, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';

const PATH = '/api/gov-child-bounties';
const MARK = '\uFEFF';
/** By child bounty. */
const DESCRIPTIONS = [
  '=HYPERLINK("http://127.0.0.1";"Größe")',
  '-1+2',
  '+1',
  '@SUM(1)',
  '\t=1',
  '\r=1',
  '\n=1',
  '＝1',
  '1-1',
  "'=1",
  '',
  'Größe "1", zwölf',
];

let pipeline: TestPipeline;
let app: FastifyInstance;

beforeAll(async () => {
  pipeline = await openTestPipeline();
  const relay = new Writer('polkadot', 100);
  relay.opening('2024-03-01T12:00:00.000Z', ['bounties.BountyBecameActive', '1']);
  const add = (text: string) =>
    shapeCall('childBounties.addChildBounty', {
      ...{ parent_bounty_id: '1', value: '12345678901234567890' },
      description: `0x${Buffer.from(text).toString('hex')}`,
    });
  relay.extrinsics(
    '2024-03-02T12:00:00.000Z',
    batch(
      ALICE,
      DESCRIPTIONS.map(add),
      DESCRIPTIONS.map((_, child) => ['childBounties.Added', '1', String(child)]),
    ),
  );
  await ingestAndCompute(pipeline.pipeline, relay.lines);
  app = await buildServer(pipeline.pipeline);
});
afterAll(async () => {
  await app.close();
  await pipeline.close();
});

const get = (query: string, headers: Record<string, string> = {}) =>
  app.inject({ url: `${PATH}?${query}`, headers });
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
const withApostrophe = (text: string, child: number) => (child < 8 ? `'${text}` : text);

it('CSV has the exact bytes of each text, and no byte order mark', async () => {
  const { body } = await get('format=csv');
  expect(body.startsWith('"relay_chain",')).toBe(true);
  for (const text of DESCRIPTIONS) expect(body).toContain(`,${quoted(text)},"2024-03-02`);
  expect((await get('format=csv&bom=false')).body).toBe(body);
});

it('CSV with bom=true has the mark, and no text that a spreadsheet runs', async () => {
  const [exact, safe] = await Promise.all([get('format=csv'), get('format=csv&bom=true')]);
  const expected = DESCRIPTIONS.reduce(
    (csv, text, child) =>
      csv.replace(`,${quoted(text)},"2024`, `,${quoted(withApostrophe(text, child))},"2024`),
    exact.body,
  );
  expect(safe.rawPayload.toString()).toBe(MARK + expected);
  expect(safe.headers.etag).not.toBe(exact.headers.etag);
  expect((await get('bom=true', { accept: 'text/csv' })).rawPayload).toEqual(safe.rawPayload);
  expect((await get('format=csv&bom=true&parent_bounty_id=7')).body).toBe(
    `${MARK}${exact.body.split('\n')[0]}\n`,
  );
});

it('each page is a file of its own', async () => {
  const pages: string[] = [];
  for (let query: string | undefined = 'format=csv&bom=true&limit=5'; query !== undefined; ) {
    const { body, headers } = await get(query);
    expect(body.startsWith(`${MARK}"relay_chain",`)).toBe(true);
    pages.push(body.slice(body.indexOf('\n') + 1));
    query = /\?([^>]+)>; rel="next"/.exec(String(headers.link ?? ''))?.[1];
  }
  expect(pages).toHaveLength(3);
  const { body } = await get('format=csv&bom=true');
  expect(pages.join('')).toBe(body.slice(body.indexOf('\n') + 1));
});

it.each([
  'bom=true',
  'format=json&bom=true',
  'format=parquet&bom=true',
  'format=csv&bom=1',
  'format=csv&bom=',
  'format=csv&bom=true&bom=true',
])('refuses %s, and names the parameter', async (query) => {
  const answer = await get(query);
  expect(answer.statusCode).toBe(422);
  expect(answer.json().detail).toMatchObject([{ loc: ['query', 'bom'] }]);
});
