import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { FastifyInstance } from 'fastify';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SystemStatus } from '../../../../aggregate/status/status.ts';
import { buildServer } from '../../../../serve/application/compose/compose-server.ts';
import { contracts } from '../../../../serve/console/lists/contracts.ts';
import { coretime } from '../../../../serve/console/lists/coretime.ts';
import { governance } from '../../../../serve/console/lists/governance.ts';
import type { ListPage } from '../../../../serve/console/lists/list-page.ts';
import { chainName } from '../../../../serve/console/series/names.ts';
import { History } from '../../../generator/history.ts';
import { shapeBlock } from '../../../reference/shaped.ts';
import { launchBrowser } from '../../../support/browser.ts';
import { CHROMIUM, canRun } from '../../../support/needed.ts';
import { ingestAndCompute, openTestPipeline, type TestPipeline } from '../../../support/pipeline.ts';
import { type Cell, cellsOf } from './cells.ts';

const hasChromium = canRun(CHROMIUM);
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const HOSTILE = `</td><script>alert(1)</script>"'&\u202eevil\u0000 ${'x'.repeat(100_000)}`;
const ALICE = '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY';

/** A day after the history, on whose chains nothing else happens. */
const block = (number: number, minute: number, description: string) => ({
  chain: 'asset-hub-kusama',
  line: JSON.stringify(
    shapeBlock({
      number,
      time: new Date(Date.parse('2026-01-05T12:00:00Z') + minute * 60_000).toISOString(),
      extrinsics: [
        {
          call: 'childBounties.addChildBounty',
          args: {
            parent_bounty_id: '77',
            value: '1',
            description: `0x${Buffer.from(description).toString('hex')}`,
          },
          signer: ALICE,
          events: [['childBounties.Added', '77', String(number)]],
        },
      ],
    }),
  ),
});

let test: TestPipeline;
let app: FastifyInstance;
let origin: string;
/** Each request has an address of its own: limits are not tested here. */
let callers = 0;
const get = (url: string) => app.inject({ url, remoteAddress: `10.0.${callers >> 8}.${callers++ & 255}` });
const rowsOf = async (url: string) => (await get(url)).json<Record<string, unknown>[]>();

beforeAll(async () => {
  test = await openTestPipeline();
  const { lines } = new History(4742, { blocks: 450, isWhole: true });
  await ingestAndCompute(test.pipeline, [
    ...lines,
    block(50_000, 0, HOSTILE),
    block(50_001, 1, 'plain words'),
  ]);
  app = await buildServer(test.pipeline);
  origin = await app.listen({ host: '127.0.0.1', port: 0 });
}, 300_000);
afterAll(async () => {
  await app.close();
  await test.close();
});

const lists: readonly ListPage[] = [governance, coretime, contracts].flatMap(({ pages }) => pages);

/** What the API has to be asked for to give the rows of a page without filters; null where it insists on one. */
function callOf({ source, order }: ListPage): string | null {
  if (source.filters.some(({ required }) => required)) return null;
  return `${source.endpoint.path}?limit=50${order === undefined ? '' : `&order=${order}`}`;
}

describe('a table of records', () => {
  it.each(lists.filter((page) => callOf(page) !== null))(
    'at $path has the rows of the API, cell by cell',
    async (page) => {
      const rows = await rowsOf(callOf(page) as string);
      const { statusCode, body } = await get(page.path);
      expect(statusCode).toBe(200);
      const cells = cellsOf(body);
      expect(cells).toHaveLength(rows.length);
      expect(rows.length).toBeGreaterThan(0);
      for (const [i, row] of rows.entries()) {
        for (const [j, { column }] of page.columns.entries()) {
          expect(cells[i]?.[j], `${column} of row ${i}`).toSatisfy((cell: Cell) => cell.says(row[column]));
        }
      }
    },
  );

  it('leads through all pages of a list, each row once', async () => {
    const path = '/contracts/calls';
    const found: string[] = [];
    for (let next: string | undefined = path; next !== undefined; ) {
      const { body } = await get(next);
      found.push(...cellsOf(body).map((row) => `${row[0]?.full} ${row[1]?.full} ${row[11]?.full}`));
      next = /rel="next" href="([^"]*)"/.exec(body)?.[1]?.replaceAll('&#38;', '&');
    }
    const rows = await rowsOf('/api/contract-call-details?limit=10000');
    expect(rows.length).toBeGreaterThan(50);
    expect(found).toHaveLength(rows.length);
    expect(found.map((line) => line.split(' ')[1])).toEqual(rows.map((row) => row.contract_address));
  });

  it('takes the filters of the API, and gives the same rows as a file', async () => {
    const [first] = await rowsOf('/api/coretime-purchases?limit=1');
    const path = `/coretime/purchases?purchase_type=&who=${first?.who}&start_date=2000-01-01`;
    const { body } = await get(path);
    const file = /href="([^"]*format=csv)"/.exec(body)?.[1]?.replaceAll('&#38;', '&') as string;
    expect(new URLSearchParams(file.split('?')[1]).toString()).toBe(
      `start_date=2000-01-01&who=${first?.who}&order=desc&format=csv`,
    );
    expect((await get(file)).body.trim().split('\n')).toHaveLength(cellsOf(body).length + 1);
  });

  it.each([
    ['/governance/child-bounties?chain=polkadt', 'chain', 'No chain is called that: did you mean polkadot?'],
    ['/governance?start_date=2024-13-01', 'start_date', 'Must be a date of the form YYYY-MM-DD.'],
    [
      '/governance?start_date=2024-02-02&end_date=2024-02-01',
      'end_date',
      'The last day must not be before the first.',
    ],
    ['/governance?relay_chain=kusama', 'relay_chain', 'Must be one of polkadot.'],
    ['/governance/votes?referendum_index=-1', 'referendum_index', 'Not a whole number.'],
    ['/governance/votes?voter=nobody', 'voter', 'Not an SS58 or H160 address.'],
    [`/contracts?addresses=0x1,${'0x2,'.repeat(5000)}`, 'addresses', 'Must have at most 4096 characters.'],
    ['/explorer?exclude_domains=Assets&exclude_domains=Weather', 'exclude_domains', 'Not one of Assets, '],
  ])('says at its field what is wrong with %.60s', async (url, field, fault) => {
    const { statusCode, body } = await get(url);
    expect(statusCode).toBe(422);
    expect(body).toMatch(new RegExp(`id="f-${field}-fault">${fault.replaceAll('?', '\\?')}`));
    expect(cellsOf(body)).toEqual([]);
  });

  it.each([
    '/coretime?cursor=nonsense',
    `/coretime?cursor=${'a'.repeat(9000)}`,
    '/coretime?cursor=a&cursor=b',
  ])('begins again where %.40s names a page that is not there', async (url) => {
    const { statusCode, body } = await get(url);
    expect(statusCode).toBe(200);
    expect(body).toContain('no longer exists');
    expect(cellsOf(body).length).toBeGreaterThan(0);
  });

  it('says in words that nothing is there', async () => {
    expect((await get('/governance/child-bounties?parent_bounty_id=123456')).body).toContain(
      'Nothing matches.',
    );
  });

  it('shows what others wrote as one short line of text', async () => {
    const { body } = await get('/governance/bounties/kusama/77');
    expect(body).toContain('&#60;/td&#62;&#60;script&#62;');
    for (const text of ['<script>alert', '\u202e', '\u0000']) expect(body).not.toContain(text);
    expect(body.length).toBeLessThan(20_000);
  });
});

describe('the page of a thing', () => {
  const paths = ['/governance', '/governance/bounties', '/coretime', '/coretime/regions', '/contracts'];

  it.each(paths)('is behind each link of %s', async (list) => {
    const { body } = await get(list);
    const links = [
      ...new Set([...body.matchAll(/<th scope="row"><a href="([^"]*)"/g)].map(([, link = '']) => link)),
    ];
    expect(links.length).toBeGreaterThan(2);
    for (const link of links.slice(0, 12)) {
      const { statusCode, body } = await get(link);
      expect(statusCode, link).toBe(200);
      expect(body, link).toContain('<dl class="facts">');
    }
  });

  it('of a referendum has its votes, and only those of its relay chain', async () => {
    const rows = (await rowsOf('/api/gov-voter-history?order=desc')).filter(
      ({ relay_chain }) => relay_chain === 'polkadot',
    );
    const index = rows.find((row) => row.referendum_index !== 0)?.referendum_index;
    const own = rows.filter((row) => row.referendum_index === index);
    const { body } = await get(`/governance/referenda/polkadot/${index}`);
    expect(cellsOf(body).map(([voter]) => voter?.full)).toEqual(own.map(({ voter }) => voter));
  });

  it.each([
    '/governance/referenda/polkadot/999999',
    '/governance/referenda/kusama/1',
    '/governance/referenda/polkadot/-1',
    '/governance/bounties/%3Cscript%3E/1',
    '/coretime/sales/polkadot/99999999999999999999',
    '/coretime/regions/polkadot/1/1/0xzz',
    '/contracts/atlantis/0x0000000000000000000000000000000000000000',
  ])('is not found at %s', async (url) => {
    const { statusCode, body } = await get(url);
    expect(statusCode).toBe(404);
    expect(body).not.toContain('<script>');
  });
});

describe('the status page', () => {
  it('has the chains of the API, and names no reason to visitors that is for operators', async () => {
    const status = (await get('/api/status')).json<SystemStatus>();
    const cells = cellsOf((await get('/status')).body);
    for (const [i, { relay_chain, chain, highest_block }] of status.chains.entries()) {
      expect(cells[i]?.[0]?.full).toBe(chainName(`${relay_chain}/${chain}`));
      expect(cells[i]?.[2]?.says(highest_block)).toBe(true);
    }
  });
});

describe.runIf(hasChromium)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    const page = await context.newPage();
    page.on('pageerror', (error) => expect.fail(String(error)));
    await page.goto(origin + path);
    return page;
  }

  it.each([
    ['/governance/votes', 'light', 1440],
    ['/governance/votes', 'dark', 390],
    ['/coretime/sales/polkadot/', 'light', 390],
    ['/coretime/sales/polkadot/', 'dark', 1440],
    ['/explorer', 'dark', 390],
    ['/status', 'light', 390],
  ] as const)(
    '%s has no accessibility fault, %s at %i pixels, and fits',
    async (path, colorScheme, width) => {
      const [sale] = await rowsOf('/api/coretime-sales?relay_chain=polkadot&order=desc&limit=1');
      const page = await open(path.endsWith('/') ? `${path}${sale?.region_begin}` : path, {
        colorScheme,
        viewport: { width, height: 844 },
      });
      await page.evaluate(AXE);
      const faults = await page.evaluate(async () => {
        const { axe } = globalThis as unknown as {
          axe: { run(): Promise<{ violations: { id: string }[] }> };
        };
        return (await axe.run()).violations.map(({ id }) => id);
      });
      expect(faults).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      await page.context().close();
    },
  );

  it('what is selected of a shortened address is all of it', async () => {
    const page = await open('/coretime/region-events');
    const [row] = await rowsOf('/api/coretime-region-events?limit=1');
    const code = page.locator('.records tbody code').first();
    expect((await code.boundingBox())?.width).toBeLessThan(200);
    await code.click();
    expect(await page.evaluate('getSelection().toString()')).toBe(row?.r_mask);
    await page.context().close();
  });

  it('accounts lead to their rows, and chains are called by their names', async () => {
    const page = await open('/governance/votes');
    const [row] = await rowsOf('/api/gov-voter-history?order=desc&limit=1');
    await page.locator('.records tbody th a').first().click();
    await page.waitForURL(/voter=/);
    expect(await page.locator('#f-voter').inputValue()).toBe(row?.voter);
    const voters = await page.locator('.records tbody th').allTextContents();
    // An account of two networks is spelled as each does.
    const own = await rowsOf(`/api/gov-voter-history?voter=${row?.voter}`);
    expect(new Set(voters)).toEqual(new Set(own.map(({ voter }) => voter)));
    expect(await page.locator('.records tbody tr').first().textContent()).toMatch(/Polkadot|Kusama/);
    await page.goto(`${origin}/explorer?chain=asset-hub-kusama`);
    expect(await page.locator('#f-chain option:checked').textContent()).toBe('Asset Hub Kusama');
    await page.locator('.records tbody td a').first().click();
    await page.waitForURL(/address=/);
    expect(new URL(page.url()).searchParams.get('chain')).toBe('asset-hub-kusama');
    await page.context().close();
  });

  it('the explorer follows new extrinsics until it is paused, and not when scripts are off', async () => {
    const page = await open('/explorer?chain=asset-hub-kusama');
    await page.locator('.follows.on').waitFor();
    await ingestAndCompute(test.pipeline, [block(50_002, 2, 'new')]);
    const newest = page.locator('.records tbody tr').first();
    await newest.filter({ hasText: '50,002' }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused.').waitFor();
    await page.context().close();
    const plain = await open('/explorer?chain=asset-hub-kusama', { javaScriptEnabled: false });
    expect(await plain.locator('.follows').textContent()).toContain('Not live.');
    expect(await plain.getByRole('link', { name: 'Reload' }).isVisible()).toBe(true);
    expect(await plain.locator('.records tbody tr').first().textContent()).toContain('50,002');
    await plain.context().close();
  });

  it('events of the explorer are not buffered, respect the filters and end with the server', async () => {
    const answer = await fetch(`${origin}/explorer/live?chain=asset-hub-kusama&exclude_domains=Consensus`, {
      headers: { 'last-event-id': '50000-1' },
    });
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(answer.headers.get('x-accel-buffering')).toBe('no');
    const text = answer.text();
    await app.close();
    const sent = await text;
    expect(sent).not.toContain('timestamp.set');
    expect(sent).toMatch(/^retry: \d+\n\n/);
  });
});
