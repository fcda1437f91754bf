import MarkdownIt from 'markdown-it';
import { truncate, visible } from '../../aggregate/alerts/formats/values.ts';
import { Html, html } from './html.ts';
import { writeAsPages } from './markdown-rules.ts';

/** Longer texts are cut, because some inputs take quadratic time. */
export const MARKDOWN_CHARACTERS_MAX = 30_000;
/** Deeper lists and quotes are not rendered. */
const NESTING_MAX = 20;
/** markdown-it pads table rows to the width of the head, so few characters can create many cells. */
const CELLS_MAX = 10_000;
const REL = 'noopener noreferrer nofollow ugc';

const parser = new MarkdownIt({ html: false, linkify: true, breaks: true });
parser.options.maxNesting = NESTING_MAX;
// Link only text with a protocol: `node.sh` is not a URL.
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
// Relative links would lead to this site, so the author could abuse its trust.
parser.validateLink = (url) => /^(?:https?:\/\/|mailto:)/i.test(url.trim());

writeAsPages(parser);
const { rules } = parser.renderer;
rules.link_open = (tokens, i, options, _env, renderer) => {
  tokens[i]?.attrSet('rel', REL);
  return renderer.renderToken(tokens, i, options);
};
/** Images become links: the CSP forbids images of other origins, and loading one would reveal the reader. */
rules.image = (tokens, i, _options, _env) => {
  const { content = '' } = tokens[i] ?? {};
  return html`<a href="${tokens[i]?.attrGet('src')}" rel="${REL}">Image: ${content || 'no description'}</a>`
    .text;
};
// The page itself uses the first two heading levels.
for (const name of ['heading_open', 'heading_close'] as const) {
  rules[name] = (tokens, i, options, _env, renderer) => {
    const token = tokens[i];
    if (token) token.tag = `h${Math.min(6, Number(token.tag.slice(1)) + 2)}`;
    return renderer.renderToken(tokens, i, options);
  };
}

/**
 * Renders untrusted Markdown: no HTML, images, scripts or relative links. Removes invisible characters and direction
 * controls twice, because entities can produce them.
 */
export function markdown(text: string): Html {
  const whole = visible(text);
  const shown = truncate(whole, MARKDOWN_CHARACTERS_MAX);
  parser[cellsIn(shown) > CELLS_MAX ? 'disable' : 'enable']('table');
  return html`<div class="markdown">${new Html(visible(parser.render(shown)))}${shown !== whole && html`<p class="hint">The text is cut here, because it is too long.</p>`}</div>`;
}

/** Upper bound of the table cells: every line as wide as the widest. */
function cellsIn(text: string): number {
  const lines = text.split('\n');
  return lines.length * lines.reduce((widest, line) => Math.max(widest, line.split('|').length), 0);
}
