import { type Html, html } from './html.ts';

/** Wraps a table so that it scrolls sideways, also by keyboard, if it is wider than the page. */
export const wideTable = (label: string, table: Html, look = ''): Html =>
  html`<div class="${['table', look].join(' ').trim()}" role="region" aria-label="${label}" tabindex="0">${table}</div>`;
