/**
 * Pictures of every page of a running server, as wide screens and phones show it, light and dark:
 * `npx node test/bench/screens.ts http://127.0.0.1:3000 DIRECTORY`
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { launchBrowser } from '../support/browser.ts';
import { everyPage } from '../support/every-page.ts';

/** Longer pages are cut off. */
const HEIGHT_MAX = 3000;

const [origin = 'http://127.0.0.1:3000', directory = 'test/output/screens', only = ''] =
  process.argv.slice(2);
mkdirSync(directory, { recursive: true });
const browser = await launchBrowser();
const { public: open, own, context } = await everyPage(browser, origin);
const [visitor, member] = [await browser.newPage(), await context.newPage()];
for (const width of [1440, 390]) {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const path of [...open, ...own].filter((one) => one.includes(only))) {
      const page = own.includes(path) ? member : visitor;
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.goto(origin + path, { waitUntil: 'networkidle' });
      const name = path.replaceAll(/[^\w]+/g, '-').slice(0, 60) || '-';
      const height = Math.min(
        HEIGHT_MAX,
        await page.evaluate<number>('document.documentElement.scrollHeight'),
      );
      await page.screenshot({
        path: join(directory, `${name}.${width}.${colorScheme}.png`),
        fullPage: true,
        clip: { x: 0, y: 0, width, height },
      });
    }
  }
}
await browser.close();
