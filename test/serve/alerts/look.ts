import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { axeViolations, loadAxe } from '../../support/axe.ts';

const SCREENS = new URL('../../output/screens/', import.meta.url).pathname;

/** Takes screenshots as a phone and a desktop show the page, which must fit them and be accessible. */
export async function look(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENS, { recursive: true });
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 860 });
    await page.screenshot({ path: join(SCREENS, `${name}-${width}.png`), fullPage: true });
    const widest = await page
      .locator('html')
      .evaluate((root) => (root as unknown as { scrollWidth: number }).scrollWidth);
    expect(widest, `${name} at ${width}`).toBeLessThanOrEqual(width);
  }
  await loadAxe(page);
  expect(await axeViolations(page, ['wcag2a', 'wcag2aa']), name).toEqual([]);
}
