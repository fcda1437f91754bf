import MarkdownIt from 'markdown-it';
import { cut, visible } from '../../aggregate/alerts/formats/values.ts';
import { Html, html } from './html.ts';
import { writeAsPages } from './markdown-rules.ts';

/** Longer texts are cut: a page is for people, and some texts take time that grows with the square of their length. */
export const MARKDOWN_CHARACTERS_MAX = 30_000;
/** Deeper lists and quotes are not shown. */
const NESTING_MAX = 20;
/** A short row of a table is filled up to the width of its head, so few characters can make many cells. */
const CELLS_MAX = 10_000;
const REL = 'noopener noreferrer nofollow ugc';

const parser = new MarkdownIt({ html: false, linkify: true, breaks: true });
parser.options.maxNesting = NESTING_MAX;
// Only what begins with a protocol: `node.sh` is no address.
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
// Other links would lead to this site, which the author of the text could pretend to be.
parser.validateLink = (url) => /^(?:https?:\/\/|mailto:)/i.test(url.trim());

writeAsPages(parser);
const { rules } = parser.renderer;
rules.link_open = (tokens, i, options, _env, renderer) => {
  tokens[i]?.attrSet('rel', REL);
  return renderer.renderToken(tokens, i, options);
};
/** Pages load no image of another origin, and loading one would tell its server who reads. */
rules.image = (tokens, i, _options, _env) => {
  const { content = '' } = tokens[i] ?? {};
  return html`<a href="${tokens[i]?.attrGet('src')}" rel="${REL}">Image: ${content || 'no description'}</a>`
    .text;
};
// The page has a first and second level of its own.
for (const name of ['heading_open', 'heading_close'] as const) {
  rules[name] = (tokens, i, options, _env, renderer) => {
    const token = tokens[i];
    if (token) token.tag = `h${Math.min(6, Number(token.tag.slice(1)) + 2)}`;
    return renderer.renderToken(tokens, i, options);
  };
}

/**
 * Markdown of somebody else as HTML: without their HTML, images, scripts and addresses of this site, and without
 * characters that are not seen or turn the direction of a text, also where entities write them.
 */
export function markdown(text: string): Html {
  const whole = visible(text);
  const shown = cut(whole, MARKDOWN_CHARACTERS_MAX);
  parser[cellsIn(shown) > CELLS_MAX ? 'disable' : 'enable']('table');
  return html`<div class="markdown">${new Html(visible(parser.render(shown)))}${shown !== whole && html`<p class="hint">The text is longer than what is shown here.</p>`}</div>`;
}

/** The cells of a table over all lines that is as wide as the widest of them. */
function cellsIn(text: string): number {
  const lines = text.split('\n');
  return lines.length * lines.reduce((widest, line) => Math.max(widest, line.split('|').length), 0);
}
