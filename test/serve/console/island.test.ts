import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { assetUrl } from '../../../serve/pages/assets.ts';
import { launchBrowser } from '../../support/browser.ts';
import { CHROMIUM, canRun } from '../../support/needed.ts';
import { chartPages } from './chart-pages.ts';

const hasChromium = canRun(CHROMIUM);
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let app: FastifyInstance;
let origin: string;
let browser: Browser;
let context: BrowserContext;
let page: Page;
const complaints: string[] = [];
const requests: string[] = [];

beforeAll(async () => {
  if (!hasChromium) return;
  app = await chartPages(requests);
  origin = await app.listen({ host: '127.0.0.1', port: 0 });
  browser = await launchBrowser();
  context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
  page = await open(context);
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await app.close();
});
beforeEach(() => {
  requests.length = 0;
});

async function open(of: BrowserContext): Promise<Page> {
  const opened = await of.newPage();
  opened.setDefaultTimeout(30_000);
  opened.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  opened.on('pageerror', (error) => complaints.push(String(error)));
  return opened;
}

const plot = (of = page) => of.getByRole('slider');
const readout = (of = page) => of.locator('.chart-readout');
const query = () => new URL(page.url()).search;
async function go(to: string, of = page): Promise<void> {
  await of.goto(`${origin}/chart/${to}`);
  await of.locator('.chart-plot canvas').waitFor();
}
const plain = (text: string | null) => (text ?? '').replaceAll('\u00a0', ' ');

/** Moves the mouse over the chart, to a share of its width. */
async function point(share: number): Promise<void> {
  const box = (await page.locator('.u-over').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.move(box.x + share * box.width, box.y + box.height / 2);
}

/** How many pixels of the canvas are not empty. */
const painted = (of = page) =>
  of.locator('.chart-plot canvas').evaluate((element) => {
    const canvas = element as unknown as {
      width: number;
      height: number;
      getContext(kind: '2d'): { getImageData(...box: number[]): { data: Uint8ClampedArray } };
    };
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, i) => i % 4 === 3 && value > 0).length;
  });

describe.runIf(hasChromium)('in Chromium, a chart', () => {
  test('takes the place of the drawing of the server and follows the mouse with values and units', async () => {
    await go('units?range=90d');
    expect(await page.locator('svg').count()).toBe(0);
    expect(await painted()).toBeGreaterThan(1000);
    expect(await page.locator('.chart-axes').textContent()).toMatch(
      /^Blocks, PolkadotFees, Polkadot in DOT$/,
    );
    await point(0);
    expect(plain(await readout().textContent())).toMatch(
      /2 Apr 2026Blocks, Polkadot504,000Fees, Polkadot[\d.]+ DOT/,
    );
    await point(0.998);
    expect(await readout().textContent()).toMatch(/30 Jun 2026\s*provisional/);
    await page.mouse.move(0, 0);
    expect(await readout().count()).toBe(0);
  });

  test('sorts values by height, and marks those of which days are missing', async () => {
    await go('chains?range=90d');
    await plot().focus();
    await page.keyboard.press('Home');
    expect(await readout().locator('bdi').allTextContents()).toEqual(['Polkadot', 'Moonbeam', 'Hydration']);
    for (let i = 0; i < 25; i++) await page.keyboard.press('ArrowRight');
    expect(plain(await readout().textContent())).toMatch(/Moonbeampartial–/);
  });

  test('is read with the keyboard alone', async () => {
    await go('chains?range=30d');
    const told = () => plot().getAttribute('aria-valuetext');
    expect(await told()).toBe('No day selected');
    await plot().focus();
    await page.keyboard.press('End');
    expect(await told()).toMatch(/^30 Jun 2026: Polkadot [\d,]+; Hydration [\d,]+; Moonbeam –$/);
    await page.keyboard.press('ArrowLeft');
    expect(await told()).toMatch(/^29 Jun 2026/);
    await page.keyboard.press('Home');
    expect(await told()).toMatch(/^1 Jun 2026/);
    await page.keyboard.press('Escape');
    expect(await told()).toBe('No day selected');
    expect(await page.locator('figure .unseen li').first().textContent()).toMatch(
      /^Polkadot: first .*highest/,
    );
  });

  test('draws styles, logarithms, means and indexes at once and writes them to the address', async () => {
    await go('chains?range=90d');
    requests.length = 0;
    const seen = new Set([await painted()]);
    for (const [name, choice, written] of [
      ['style', 'stacked', '?range=90d&style=stacked'],
      ['style', 'share', '?range=90d&style=share'],
      ['style', 'lines', '?range=90d'],
    ] as const) {
      await page.locator(`[name=${name}]`).selectOption(choice);
      await expect.poll(query).toBe(written);
      seen.add(await painted());
    }
    for (const [name, written] of [
      ['log', '?range=90d&log=1'],
      ['mean', '?range=90d&log=1&mean=7'],
      ['indexed', '?range=90d&indexed=1&log=1&mean=7'],
    ] as const) {
      await page.locator(`[name=${name}]`).check();
      await expect.poll(query).toBe(written);
      seen.add(await painted());
    }
    expect(seen.size).toBeGreaterThan(5);
    expect(requests).toEqual([]);
    await page.goBack();
    await expect.poll(() => page.locator('[name=indexed]').isChecked()).toBe(false);
    expect(await page.locator('[name=mean]').isChecked()).toBe(true);
  });

  test('gets the page of other days, keeps the focus and what is open, and can go back', async () => {
    await go('chains?range=90d');
    await page.locator('summary', { hasText: 'Table' }).click();
    const range = page.locator('[name=range]');
    await range.focus();
    await range.selectOption('30d');
    await expect.poll(() => page.locator('#days').textContent()).toBe('2026-06-01 2026-06-30');
    expect(query()).toBe('?range=30d');
    expect(await page.locator('#take').getAttribute('href')).toContain('start_date=2026-06-01');
    expect(await page.title()).toBe('chains range=30d');
    expect(await page.locator('#days').isVisible()).toBe(true);
    expect(await range.evaluate((element) => element.matches(':focus'))).toBe(true);
    expect(await page.getByRole('status').textContent()).toBe(
      'The chart shows 3 series by day, 1 Jun 2026 until 30 Jun 2026.',
    );
    await page.goBack();
    await expect.poll(() => page.locator('#days').textContent()).toBe('2026-04-02 2026-06-30');
    await page.locator('[name=from]').fill('2026-05-01');
    // A date waits for more digits before it asks for other data.
    await expect.poll(query, { timeout: 10_000 }).toBe('?from=2026-05-01&until=2026-06-30');
  });

  test('picks chains in a menu with search, which stays as it is while the chart changes', async () => {
    await go('chains?range=90d');
    await page.locator('summary', { hasText: 'Chains' }).click();
    const search = page.getByLabel('Search');
    await search.fill('hydr');
    const choices = page.locator('.choice:visible');
    expect(await choices.count()).toBe(1);
    await choices.locator('input').check();
    await expect.poll(query).toBe('?chain=hydration&range=90d');
    await expect.poll(() => page.getByRole('button', { name: /^Moonbeam/ }).count()).toBe(0);
    expect(await search.inputValue()).toBe('hydr');
    expect(await choices.count()).toBe(1);
    await page.keyboard.press('Escape');
    expect(await search.isVisible()).toBe(false);
  });

  test('zooms to what is marked, and takes that back', async () => {
    await go('chains?range=90d');
    await point(0.5);
    await page.mouse.down();
    await point(0.75);
    await page.mouse.up();
    await expect.poll(query).toMatch(/^\?from=2026-05-\d\d&until=2026-06-0\d$/);
    await page.getByRole('button', { name: 'Reset zoom' }).click();
    await expect.poll(query).toBe('?range=90d');
    await expect.poll(() => page.getByRole('button', { name: 'Reset zoom' }).count()).toBe(0);
  });

  test('switches series, and an address tells a fresh browser which', async () => {
    await go('chains?range=90d');
    const all = await painted();
    await page.getByRole('button', { name: /^Moonbeam/ }).click();
    expect(await painted()).toBeLessThan(all);
    expect(query()).toBe('?range=90d&hide=daily-tps.num_blocks%40polkadot%2Fmoonbeam');
    const fresh = await browser.newContext();
    const other = await open(fresh);
    await other.goto(page.url());
    const name = other.getByRole('button', { name: /^Moonbeam/ });
    expect(await name.getAttribute('aria-pressed')).toBe('false');
    await fresh.close();
    await page.getByRole('button', { name: /^Moonbeam/ }).click();
    expect(query()).toBe('?range=90d');
  });

  test('is a link to share', async () => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await go('hostile?range=90d');
    await page.getByRole('button', { name: 'Copy link' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = 'navigator.clipboard.readText()';
    expect(await page.evaluate(copied)).toBe(page.url());
  });

  test.each(['one', 'negative', 'huge', 'ratios', 'hostile', 'many?range=all'])(
    'is drawn in every style: %s',
    async (name) => {
      await go(name);
      for (const style of ['stacked', 'share', 'lines']) {
        await page.locator('[name=style]').selectOption(style);
        expect(await painted()).toBeGreaterThan(100);
      }
      for (const box of ['log', 'mean', 'indexed']) await page.locator(`[name=${box}]`).check();
      expect(await painted()).toBeGreaterThan(0);
      expect(await page.locator('.chart img').count()).toBe(0);
    },
  );

  test('without controls is zoomed on its own', async () => {
    await go('embedded?range=90d');
    const first = () => page.locator('.chart-plot').getAttribute('aria-valuetext');
    await point(0.5);
    await page.mouse.down();
    await point(0.75);
    await page.mouse.up();
    await page.mouse.move(0, 0);
    await point(0.001);
    expect(await first()).toMatch(/ May 2026/);
    await page.getByRole('button', { name: 'Reset zoom' }).click();
    await point(0.001);
    expect(await first()).toMatch(/^2 Apr 2026/);
    expect(query()).toBe('?range=90d');
  });

  test.each(['none', 'nulls'])(
    'leaves the words of the server where there is nothing to draw: %s',
    async (name) => {
      await page.goto(`${origin}/chart/${name}`);
      await page.getByRole('button', { name: 'Show' }).waitFor({ state: 'hidden' });
      expect(await page.locator('svg').count()).toBe(1);
      expect(await page.locator('canvas').count()).toBe(0);
      await page.locator('[name=range]').selectOption('30d');
      await expect.poll(() => page.getByRole('status').textContent()).toBe('There are no values to draw.');
    },
  );

  test('fits a phone, follows a finger, and is dark where the reader is', async () => {
    const phone = await browser.newContext({
      viewport: { width: 390, height: 844 },
      colorScheme: 'dark',
      hasTouch: true,
      isMobile: true,
    });
    const other = await open(phone);
    await go('many?range=all', other);
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await other.evaluate(overflow)).toBe(0);
    const before = await painted(other);
    const box = (await other.locator('.u-over').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await other.touchscreen.tap(box.x + box.width - 4, box.y + box.height / 2);
    expect(await readout(other).textContent()).toMatch(/2026Chain 9/);
    const colour = () => other.evaluate("getComputedStyle(document.querySelector('.chart-axes')).color");
    const dark = await colour();
    await other.emulateMedia({ colorScheme: 'light' });
    expect(await colour()).not.toBe(dark);
    expect(await painted(other)).toBeGreaterThan(before / 2);
    await phone.close();
  });

  test.each(['light', 'dark'] as const)('has no finding of axe, %s', async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    await go('chains?range=90d');
    await plot().focus();
    await page.keyboard.press('End');
    await page.evaluate(AXE);
    const found = await page.evaluate(async () => {
      const { axe } = globalThis as unknown as {
        axe: { run(of: string): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
      };
      const { violations } = await axe.run('figure, .legend');
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
    });
    expect(found).toEqual([]);
  });

  test('causes no errors in the browser, and breaks no rule of its policy', () => {
    expect(complaints).toEqual([]);
  });
});

test('the script and the styles of charts fit their budget', async () => {
  const pages = await chartPages([]);
  const sizes = await Promise.all(
    (['chart.js', 'chart.css'] as const).map(async (name) => {
      const { rawPayload } = await pages.inject(assetUrl(name));
      return gzipSync(rawPayload).length;
    }),
  );
  expect(sizes[0]).toBeLessThan(60_000);
  expect(sizes[1]).toBeLessThan(3_000);
  await pages.close();
});
