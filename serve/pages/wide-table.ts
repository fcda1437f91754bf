import { type Html, html } from './html.ts';

/** A table that scrolls sideways where it is wider than its page, with keys too. */
export const wideTable = (label: string, table: Html, look = ''): Html =>
  html`<div class="${['table', look].join(' ').trim()}" role="region" aria-label="${label}" tabindex="0">${table}</div>`;
