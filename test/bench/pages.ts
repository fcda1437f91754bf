/**
 * What pages of a running server weigh and how soon they are read and used, on a processor that is four times slower:
 * `npx node test/bench/pages.ts http://127.0.0.1:3000`
 */
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';

const ROUNDS = 5;
const SLOWED = 4;
/** So long without a long task a page counts as ready to be used. */
const STILL_MS = 2000;
const PAGES = ['/', '/charts/daily-fees', '/compare', '/chains/polkadot', '/governance', '/status'];

const origin = process.argv[2] ?? 'http://127.0.0.1:3000';

interface Visit {
  readonly bytes: Readonly<Record<string, number>>;
  readonly answered: number;
  readonly painted: number;
  readonly usable: number;
}

/** The times of a page in a fresh browser context, so without anything cached. */
async function visit(browser: Browser, path: string): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const client = await context.newCDPSession(page);
  await client.send('Network.enable');
  await client.send('Emulation.setCPUThrottlingRate', { rate: SLOWED });
  const kinds = new Map<string, string>();
  const bytes: Record<string, number> = {};
  client.on('Network.responseReceived', ({ requestId, type }) => kinds.set(requestId, type));
  client.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const kind = kinds.get(requestId) ?? 'Other';
    bytes[kind] = (bytes[kind] ?? 0) + encodedDataLength;
  });
  await page.addInitScript(`globalThis.tasks = [];
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.startTime + one.duration)))
      .observe({ type: 'longtask', buffered: true });`);
  await page.goto(origin + path, { waitUntil: 'networkidle' });
  await page.waitForTimeout(STILL_MS);
  const times = await page.evaluate<Omit<Visit, 'bytes'>>(`(() => {
    const [navigation] = performance.getEntriesByType('navigation');
    const painted = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0;
    return { answered: navigation.responseEnd, painted, usable: Math.max(painted, ...tasks) };
  })()`);
  await context.close();
  return { bytes, ...times };
}

const browser = await launchBrowser();
for (const path of PAGES) {
  await visit(browser, path);
  const visits: Visit[] = [];
  for (let i = 0; i < ROUNDS; i++) visits.push(await visit(browser, path));
  const median = (of: (one: Visit) => number) =>
    Math.round(visits.map(of).sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0);
  const weights = Object.entries(visits[0]?.bytes ?? {}).map(
    ([kind, size]) => `${kind} ${(size / 1000).toFixed(1)} kB`,
  );
  process.stdout.write(
    `${path}: answered ${median((one) => one.answered)} ms, painted ${median((one) => one.painted)} ms, ` +
      `usable ${median((one) => one.usable)} ms; ${weights.join(', ')}\n`,
  );
}
await browser.close();
