/**
 * How long Chromium takes to draw 10 series of 3,650 points again, as lines and stacked, and to make pixels of that
 * without a graphics card: `npx node test/bench/chart.ts`
 */

import { chartPages } from '../serve/console/chart-pages.ts';
import { launchBrowser } from '../support/browser.ts';

const ROUNDS = 30;

const app = await chartPages([]);
const origin = await app.listen({ host: '127.0.0.1', port: 0 });
const browser = await launchBrowser();
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await page.goto(`${origin}/chart/many?range=all`);
await page.locator('.chart-plot canvas').waitFor();

const client = await page.context().newCDPSession(page);
// Of the processor, so that other programs do not count.
await client.send('Performance.enable', { timeDomain: 'threadTicks' });
const busy = async () => {
  const { metrics } = await client.send('Performance.getMetrics');
  return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0);
};

for (const style of ['stacked', 'share', 'lines']) {
  const times: number[] = [];
  const pixels: number[] = [];
  const wall: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    await again(style);
    const before = await busy();
    wall.push(await change(style));
    times.push((await busy()) - before);
    await again(style);
    pixels.push(await change(style, true));
  }
  process.stdout.write(
    `${style}: processor ${told(times)}; clock ${told(wall)}; clock with pixels ${told(pixels)}\n`,
  );
}

/** Chooses another style, so that the next change is one. */
async function again(style: string): Promise<void> {
  await change(style === 'lines' ? 'stacked' : 'lines');
  await page.waitForTimeout(20);
}

/** Chooses a style. Returns the time until the canvas has its commands, or until it has its pixels: one is read. */
function change(style: string, isPainted = false): Promise<number> {
  return page.evaluate(`(async () => {
    const control = document.querySelector('[name=style]');
    const begin = performance.now();
    control.value = '${style}';
    control.dispatchEvent(new Event('change', { bubbles: true }));
    await new Promise(queueMicrotask);
    await new Promise(queueMicrotask);
    if (${isPainted}) document.querySelector('.chart-plot canvas').getContext('2d').getImageData(0, 0, 1, 1);
    return performance.now() - begin;
  })()`);
}

function told(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)]?.toFixed(1);
  return `least ${at(0)} ms, median ${at(0.5)} ms, p90 ${at(0.9)} ms`;
}

await browser.close();
await app.close();
