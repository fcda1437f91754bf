import { readFileSync } from 'node:fs';

const styles = readFileSync(new URL('assets/style.css', import.meta.url), 'utf8');

function colour(name: string): string {
  const found = new RegExp(`--${name}: (?:light-dark\\()?(#[0-9a-f]{3,8})`).exec(styles)?.[1];
  if (found === undefined) throw new Error(`the styles name no colour --${name}`);
  return found;
}

/** The colours of the pages in a light scheme, for pictures that are made where no browser is. */
export const lightColours = {
  page: colour('card'),
  ink: colour('text'),
  muted: colour('quiet'),
  line: colour('line'),
  accent: colour('accent'),
  series: Array.from({ length: 10 }, (_, i) => colour(`series-${i}`)),
};
