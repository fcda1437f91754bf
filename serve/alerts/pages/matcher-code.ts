import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import { formatMatchers } from '../../../aggregate/alerts/matchers/parse.ts';
import { type Html, html } from '../../pages/html.ts';

/** Formats matchers. A long matcher breaks between the alternatives of a value, not inside a word. */
export const matcherCodes = (matchers: readonly Matcher[]): Html =>
  html`${matchers.map((matcher) => html`<code>${breakable(formatMatchers([matcher]))}</code> `)}`;

const breakable = (text: string): Html => {
  const [first, ...others] = text.split('|');
  return html`${first}${others.map((part) => html`|<wbr>${part}`)}`;
};
