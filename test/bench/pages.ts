/**
 * How long a running server takes for each of its pages; what a page of each kind weighs, and how soon it is read and
 * used on a processor that is four times slower: `npx node test/bench/pages.ts http://127.0.0.1:3000`. The server needs
 * ANONYMOUS_PER_MINUTE=0, ANONYMOUS_STORE_SECONDS=0 and KEY_STORE_SECONDS=0.
 */
import type { Browser } from 'playwright-core';
import { DAY_MS } from '../../infra/days.ts';
import { launchBrowser } from '../support/browser.ts';
import { type EveryPage, everyPage } from '../support/every-page.ts';

const ASKED = 30;
const GOAL_MS = 100;
const ROUNDS = 5;
const SLOWED = 4;
/** So long without a long task a page counts as ready to be used. */
const STILL_MS = 2000;
/** What of a page may weigh so many kB, compressed. */
const BUDGETS: Readonly<Record<string, number>> = { Document: 15, Stylesheet: 10, Script: 60, Fetch: 30 };
/** The last part of the address of one page of each kind. */
const KINDS = [
  ...[
    '/',
    '/charts',
    '/daily-fees',
    '-heatmap',
    '/compare',
    '/embed/daily-tps',
    '/chains',
    '/chains/polkadot',
  ],
  ...['/governance', '/coretime', '/contracts', '/explorer', '/status', '/search?q=fees', '/docs/guides/api'],
  ...['/sign-in', '/profile', '/keys', '/projects', '/alerts', '/alerts/1', '/integrations', '/analytics'],
];

const origin = process.argv[2] ?? 'http://127.0.0.1:3000';

/** An address of the page that nobody asked for yet, where it has such: charts have days of their own. */
function another(path: string, round: number): string {
  if (!/^\/(charts\/|compare|embed)/.test(path)) return path;
  const url = new URL(path, origin);
  url.searchParams.set('from', new Date(Date.now() - (90 + round) * DAY_MS).toISOString().slice(0, 10));
  url.searchParams.set('until', new Date(Date.now()).toISOString().slice(0, 10));
  return url.pathname + url.search;
}

/** The times of the server for a page, each answer read to its end. */
async function timesOf(path: string, cookie: string): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < ASKED; i++) {
    const began = performance.now();
    const answer = await fetch(origin + another(path, i), { headers: { accept: 'text/html', cookie } });
    await answer.text();
    times.push(performance.now() - began);
    if (answer.status >= 400 && path !== '/nowhere') throw new Error(`${path}: ${answer.status}`);
  }
  return times;
}

async function measureServer({ public: open, own, context }: EveryPage): Promise<void> {
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
  for (const path of [...open, ...own]) {
    const times = await timesOf(path, own.includes(path) ? cookie : '');
    const sorted = [...times].sort((a, b) => a - b);
    const [first = 0, median = 0, p95 = 0] = [
      times[0],
      ...[0.5, 0.95].map((share) => sorted[Math.ceil(ASKED * share) - 1]),
    ];
    process.stdout.write(
      `${path.slice(0, 60)}: first ${first.toFixed(0)} ms, median ${median.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms${p95 > GOAL_MS ? `: above ${GOAL_MS} ms` : ''}\n`,
    );
  }
}

interface Visit {
  readonly bytes: Readonly<Record<string, number>>;
  readonly answered: number;
  readonly painted: number;
  readonly usable: number;
}

type State = Awaited<ReturnType<EveryPage['context']['storageState']>>;

/** The times of a page in a fresh browser context, so without anything cached. */
async function visit(browser: Browser, path: string, storageState?: State): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    ...(storageState && { storageState }),
  });
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

async function measureBrowser(browser: Browser, path: string, state?: State): Promise<void> {
  await visit(browser, path, state);
  const visits: Visit[] = [];
  for (let i = 0; i < ROUNDS; i++) visits.push(await visit(browser, path, state));
  const median = (of: (one: Visit) => number) =>
    Math.round(visits.map(of).sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0);
  const weights = Object.entries(visits[0]?.bytes ?? {}).map(([kind, size]) => {
    const isOver = size / 1000 > (BUDGETS[kind] ?? Number.POSITIVE_INFINITY);
    return `${kind} ${(size / 1000).toFixed(1)} kB${isOver ? ` of ${BUDGETS[kind]}` : ''}`;
  });
  process.stdout.write(
    `${path.slice(0, 60)}: answered ${median((one) => one.answered)} ms, painted ${median((one) => one.painted)} ms, ` +
      `usable ${median((one) => one.usable)} ms; ${weights.join(', ')}\n`,
  );
}

const browser = await launchBrowser();
const all = await everyPage(browser, origin);
await measureServer(all);
const state = await all.context.storageState();
const isOfAnotherKind = (path: string) => KINDS.some((kind) => path.endsWith(kind));
for (const path of all.public.filter(isOfAnotherKind)) await measureBrowser(browser, path);
for (const path of all.own.filter(isOfAnotherKind)) await measureBrowser(browser, path, state);
await browser.close();
