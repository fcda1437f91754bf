import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { chainName } from '../../../serve/console/series/names.ts';
import { COLOUR_RULES, launchBrowser } from '../../support/browser.ts';
import { loadDemo } from '../../support/demo.ts';
import { CONSOLE_PAGES, recordsOn } from '../../support/every-page.ts';
import { CHROMIUM, canRun } from '../../support/needed.ts';
import { clockFrom, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const hasChromium = canRun(CHROMIUM);
const NOW = '2026-11-10T15:00:00Z';
/** Days of the demo data that are left out: a shorter history is computed sooner. */
const LEFT_OUT_DAYS = 84;

let pipeline: TestPipeline;
let app: FastifyInstance;
let browser: Browser;
let page: Page;
let origin: string;
let chosen: string[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  if (!hasChromium) return;
  pipeline = await openTestPipeline(clockFrom(NOW));
  const { pipeline: parts } = pipeline;
  await loadDemo(parts, Date.parse(NOW), LEFT_OUT_DAYS);
  app = await buildServer(parts);
  origin = await app.listen({ host: '127.0.0.1', port: 0 });
  browser = await launchBrowser();
  [, page] = await fresh();
}, 300_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await app.close();
  await pipeline.close();
});

async function fresh(options: BrowserContextOptions = {}): Promise<[BrowserContext, Page]> {
  const opened = await browser.newContext({ viewport: { width: 1440, height: 1000 }, ...options });
  const tab = await opened.newPage();
  tab.setDefaultTimeout(30_000);
  tab.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  tab.on('pageerror', (error) => complaints.push(String(error)));
  return [opened, tab];
}

const drawn = (of = page) => of.locator('.chart-plot canvas').first().waitFor();
const search = (of = page) => new URL(of.url()).searchParams;
const legend = (of = page) => of.locator('[data-legend] bdi').allTextContents();
const overflow = (of: Page) => of.evaluate('document.documentElement.scrollWidth - innerWidth');

describe.runIf(hasChromium)('in Chromium, the pages of the metrics', () => {
  test('open on a chart with at least ninety points', async () => {
    await page.goto(origin);
    await drawn();
    const source = await page.locator('[data-plot]').getAttribute('data-source');
    const { series } = (await app.inject(source ?? '')).json();
    for (const { values } of series) {
      expect(values.filter((value: number | null) => value !== null).length).toBeGreaterThan(85);
    }
    expect(
      Math.max(...series.map(({ values }: { values: unknown[] }) => values.filter((v) => v !== null).length)),
    ).toBeGreaterThanOrEqual(90);
    expect(await page.locator('.tile').count()).toBeGreaterThan(6);
  });

  test.each([1024, 1280, 1440])('have every area of the site in sight at a width of %d', async (width) => {
    const [other, wide] = await fresh({ viewport: { width, height: 800 } });
    await wide.goto(origin);
    expect(await wide.locator('nav.main').evaluate((nav) => nav.scrollWidth - nav.clientWidth)).toBe(0);
    const first = wide.locator('.tiles').first().locator('strong');
    const heights = await first.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().bottom));
    // Those of one row, below titles of one line and of two.
    expect(new Set(heights).size).toBeLessThan(heights.length / 2);
    await other.close();
  });

  test.each(['/contracts/calls', '/contracts/transactions', '/governance/child-bounties'])(
    'show every column of %s at a width of 1440',
    async (path) => {
      await page.goto(origin + path);
      expect(await page.locator('tbody tr').count()).toBeGreaterThan(2);
      const table = page.locator('.table.records');
      expect(await table.evaluate((of) => of.scrollWidth - of.clientWidth)).toBe(0);
    },
  );

  test('show the chains and days that a visitor chooses, by their address too', async () => {
    await page.goto(`${origin}/charts/daily-tps?column=num_transactions_combined`);
    await drawn();
    await page.locator('[data-picker] > summary').click();
    const checked = await page
      .locator('input[name=chain]:checked')
      .evaluateAll((boxes) => boxes.map((box) => box.getAttribute('value')));
    chosen = checked.slice(0, 2).map(String).sort();
    for (const value of checked.slice(2)) {
      await page.locator(`input[name=chain][value="${value}"]`).setChecked(false);
      await expect.poll(() => search().getAll('chain')).not.toContain(value);
      await expect.poll(() => search().getAll('chain').length).toBeGreaterThan(0);
    }
    await expect.poll(() => search().getAll('chain').sort()).toEqual(chosen);
    await page.locator('label:has(input[name=range][value="30d"])').click();
    await expect.poll(() => search().get('range')).toBe('30d');
    await drawn();
    await expect.poll(() => legend()).toHaveLength(2);

    const [other, shared] = await fresh();
    await shared.goto(page.url());
    await drawn(shared);
    expect(await legend(shared)).toEqual(await legend());
    expect(await shared.locator('[data-plot]').getAttribute('data-source')).toBe(
      await page.locator('[data-plot]').getAttribute('data-source'),
    );
    await other.close();
  });

  test('download what is shown: the same values as the API has, row by row', async () => {
    const href = await page.locator('[data-downloads] a', { hasText: 'CSV' }).getAttribute('href');
    const [head, ...lines] = (await app.inject(href ?? '')).body.trim().split('\n');
    const source = new URL((await page.locator('[data-plot]').getAttribute('data-source')) ?? '', origin)
      .searchParams;
    expect(head).toBe('"date","metric","column","title","relay_chain","chain","part","unit","value"');
    expect(chosen).toHaveLength(2);
    for (const of of chosen) {
      const [relay_chain, chain] = of.split('/');
      const days = `start_date=${source.get('start_date')}&end_date=${source.get('end_date')}`;
      const rows = (
        await app.inject(`/api/daily-tps?relay_chain=${relay_chain}&chain=${chain}&${days}`)
      ).json();
      const mine = lines
        .filter((line) => line.includes(`"${chain}"`))
        .map((line) => line.replaceAll('"', '').split(','));
      expect(mine.map(([date, , , , , , , , value]) => [date, Number(value)])).toEqual(
        rows.map((row: Record<string, unknown>) => [row.date, row.num_transactions_combined]),
      );
      expect(rows.length).toBeGreaterThan(20);
    }
  });

  test('zoom by the mouse and back, and tell values where it points', async () => {
    const box = (await page.locator('.u-over').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await expect
      .poll(() => page.locator('.chart-readout').textContent())
      .toContain(chainName(chosen[0] ?? ''));
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.8, box.y + box.height / 2, { steps: 5 });
    await page.mouse.up();
    await expect.poll(() => search().get('from')).toMatch(/^2026-/);
    await page.goBack();
    await expect.poll(() => search().get('from')).toBeNull();
  });

  test('compare series, and keep them in an address', async () => {
    await drawn();
    await page.getByRole('link', { name: 'Compare', exact: true }).last().click();
    await page.waitForURL(/\/compare\?/);
    await drawn();
    expect(search().getAll('series')).toHaveLength(2);
    await page.locator('select[name=metric]').selectOption('daily-fees.total_fees_usd');
    await page.locator('select[name=of]').selectOption('polkadot/ecosystem');
    const show = page.locator('[data-submit]');
    if (await show.isVisible()) await show.click();
    await expect.poll(() => legend()).toContain('Fees in USD, All of Polkadot');
  });

  test('can be embedded in a page of another origin, and only what is made for it', async () => {
    const [other, outside] = await fresh();
    const frames = ['embed', 'charts'].map(
      (area) => `<iframe id="${area}" src="${origin}/${area}/daily-tps?range=30d"></iframe>`,
    );
    const elsewhere = createServer((_, response) =>
      response.setHeader('content-type', 'text/html').end(frames.join('')),
    );
    await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
    await outside.goto(`http://elsewhere.test:${(elsewhere.address() as AddressInfo).port}/`);
    await outside.frameLocator('#embed').locator('.chart-plot canvas').waitFor();
    expect(await outside.frameLocator('#charts').locator('.brand').count()).toBe(0);
    await other.close();
    elsewhere.close();
    expect(complaints.splice(0).join()).toContain("frame-ancestors 'none'");
  });

  test('close the search that a click has opened', async () => {
    await page.goto(origin);
    await page.locator('header input[type=search]').click();
    await page.locator('dialog[open]').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('dialog[open]').count()).toBe(0);
  });

  test('tell beside each result of a search what it is, also on a wide screen', async () => {
    await page.goto(`${origin}/search?q=staking`);
    const results = await page.locator('.found a').all();
    const widths = await Promise.all(results.map(async (one) => (await one.boundingBox())?.width ?? 0));
    expect(widths.length).toBeGreaterThan(4);
    expect(Math.max(...widths)).toBeLessThan(800);
  });

  test('are used by keyboard alone: search opens a metric, arrows read its chart', async () => {
    await page.goto(origin);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('staking participation');
    // What is listed of fewer letters is not opened.
    const found = page.locator('dialog [data-words="staking participation"] a');
    await found.getByText('Staking participation').first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/charts\/daily-staking-participation/);
    await drawn();
    await page.locator('[data-plot] [role=slider]').focus();
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => page.locator('.chart-readout').textContent()).toMatch(/Polkadot/);
  });

  test('work without a script', async () => {
    const [other, plain] = await fresh({ javaScriptEnabled: false });
    await plain.goto(`${origin}/charts/daily-tps?style=stacked`);
    expect(await plain.locator('figure[data-plot] svg.areas path').count()).toBeGreaterThan(0);
    await page.goto(plain.url());
    await drawn();
    const looks = (of: Page) =>
      of.locator('[data-legend] li').evaluateAll((all) => all.map((one) => one.textContent + one.className));
    const words = async (of: Page) => (await looks(of)).map((look) => look.replaceAll(/\s/g, ''));
    expect(await words(plain)).toEqual(await words(page));
    await plain.locator('label:has(input[name=per][value=week])').click();
    await plain.locator('[data-submit]').click();
    expect(search(plain).get('per')).toBe('week');
    await plain.getByText('Table of these values').click();
    expect(await plain.locator('[data-table] tbody tr').count()).toBeGreaterThan(10);
    await other.close();
  });

  const PAGES = [...CONSOLE_PAGES, '/governance', '/coretime', '/contracts'];
  /** Lists of records, whose links lead to a page of each kind of thing. */
  const LISTS = ['/governance', '/governance/bounties', '/coretime', '/coretime/regions', '/contracts'];
  const detailPages = async (): Promise<string[]> => {
    const bodies = await Promise.all(LISTS.map(async (path) => (await app.inject(path)).body));
    const kinds = Map.groupBy(
      bodies.flatMap(recordsOn),
      (path) => /^\/contracts|^\/\w+\/\w+/.exec(path)?.[0],
    );
    return [...kinds.values()].map(([path = '']) => path);
  };
  test('have no serious finding of axe in light and dark, and fit a phone', async () => {
    const [other, phone] = await fresh({ viewport: { width: 390, height: 844 } });
    const findings: string[] = [];
    const details = await detailPages();
    expect(details).toHaveLength(5);
    const look = async (path: string, colorScheme: 'light' | 'dark', options: object) => {
      await phone.emulateMedia({ colorScheme });
      const { violations } = await phone.evaluate<{
        violations: { id: string; impact: string; nodes: { html: string }[] }[];
      }>(`axe.run(${JSON.stringify({ ...options, resultTypes: ['violations'] })})`);
      for (const { id, impact, nodes } of violations) {
        if (impact === 'serious' || impact === 'critical')
          findings.push(`${path}, ${colorScheme}: ${id} at ${nodes[0]?.html}`);
      }
    };
    for (const path of [...PAGES, ...details]) {
      await phone.goto(origin + path);
      if (await phone.locator('[data-plot]').count()) await drawn(phone);
      if (Number(await overflow(phone)) > 0) findings.push(`${path}: wider than a phone`);
      await phone.evaluate(AXE);
      await look(path, 'dark', { runOnly: COLOUR_RULES });
      await look(path, 'light', {});
    }
    expect(findings).toEqual([]);
    await other.close();
  });

  test('stay within their budget of bytes', async () => {
    const br = { 'accept-encoding': 'br' };
    const sizeOf = async (url: string) => (await app.inject({ url, headers: br })).rawPayload.length;
    for (const path of ['/', '/charts/daily-fees']) {
      const { body, rawPayload } = await app.inject({ url: path, headers: br }).then(async (coded) => ({
        rawPayload: coded.rawPayload,
        body: (await app.inject(path)).body,
      }));
      expect(rawPayload.length, path).toBeLessThan(15_000);
      const assets = [...new Set(body.match(/\/assets\/[^"]+/g))];
      const sum = async (ending: string) =>
        (await Promise.all(assets.filter((url) => url.endsWith(ending)).map(sizeOf))).reduce(
          (a, b) => a + b,
          0,
        );
      expect(await sum('.css'), 'CSS').toBeLessThan(10_000);
      expect(await sum('.js'), 'JavaScript').toBeLessThan(60_000);
      const source = /data-source="([^"]+)"/.exec(body)?.[1]?.replaceAll('&#38;', '&') ?? '';
      expect(await sizeOf(source), 'data').toBeLessThan(30_000);
    }
  });

  test('print in light colours, with the names of lines and without what can only be pressed', async () => {
    const [other, paper] = await fresh({ colorScheme: 'dark' });
    await paper.emulateMedia({ media: 'print' });
    await paper.goto(`${origin}/charts/daily-fees`);
    await drawn(paper);
    for (const hidden of ['.top', '.controls', 'button:not(.legend *)', 'footer'])
      expect(await paper.locator(hidden).first().isVisible(), hidden).toBe(false);
    expect(await paper.locator('.legend bdi').first().isVisible()).toBe(true);
    expect(await paper.locator('.card').first().evaluate('getComputedStyle(document.body).color')).toBe(
      'rgb(29, 24, 37)',
    );
    await other.close();
  });

  test('make the browser complain about nothing', () => {
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
  });
});
