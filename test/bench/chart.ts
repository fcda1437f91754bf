/**
 * How long Chromium takes to draw 10 series of 3,650 points again, as lines and stacked:
 * `npx node test/bench/chart.ts`
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

/** From the change of a control until the canvas has its commands, and the frame after it. */
const measured = (await page.evaluate(`(async () => {
  const control = document.querySelector('[name=style]');
  const found = { lines: [], stacked: [], share: [] };
  for (let i = 0; i < ${ROUNDS}; i++) {
    for (const style of ['stacked', 'share', 'lines']) {
      await new Promise(requestAnimationFrame);
      const begin = performance.now();
      control.value = style;
      control.dispatchEvent(new Event('change', { bubbles: true }));
      await new Promise(queueMicrotask);
      await new Promise(queueMicrotask);
      found[style].push(performance.now() - begin);
    }
  }
  return found;
})()`)) as Readonly<Record<string, readonly number[]>>;

const at = (sorted: readonly number[], share: number) =>
  sorted[Math.floor((sorted.length - 1) * share)]?.toFixed(1);
for (const [style, times] of Object.entries(measured)) {
  const sorted = [...times].sort((a, b) => a - b);
  process.stdout.write(`${style}: median ${at(sorted, 0.5)} ms, p90 ${at(sorted, 0.9)} ms\n`);
}
await browser.close();
await app.close();
