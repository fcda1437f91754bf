import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Lets axe look at a page. */
export const loadAxe = (page: Page): Promise<unknown> => page.evaluate(AXE);

/** What axe finds on a page that it was loaded into, each rule with the first element that breaks it. */
export async function axeViolations(page: Page, runOnly: readonly string[]): Promise<string[]> {
  const options = JSON.stringify({ runOnly, resultTypes: ['violations'] });
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(`axe.run(${options})`);
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}
