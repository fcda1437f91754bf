import type { default as MarkdownIt, Token } from 'markdown-it';
import { html } from './html.ts';

const NAME = 'aria-label';

/** A focusable block, so that long lines scroll by keyboard too. */
const block = (content = '') => html`<pre class="payload" tabindex="0"><code>${content}</code></pre>\n`.text;

/** Adapts a parser to our pages: scrollable code and tables, and no inline styles, which the CSP forbids. */
export function writeAsPages({ core, renderer: { rules } }: InstanceType<typeof MarkdownIt>): void {
  core.ruler.push('name_tables', ({ tokens, env }) => nameTables(tokens, (env as { title?: string }).title));
  rules.fence = (tokens, i) => block(tokens[i]?.content);
  rules.code_block = (tokens, i) => block(tokens[i]?.content);
  rules.table_open = (tokens, i) =>
    html`<div class="table" role="region" aria-label="${tokens[i]?.attrGet(NAME)}" tabindex="0"><table>\n`
      .text;
  rules.table_close = () => '</table></div>\n';
  // markdown-it writes alignment as an inline style, which the CSP forbids.
  for (const name of ['th_open', 'td_open'] as const) {
    rules[name] = (tokens, i, options, _env, renderer) => {
      const token = tokens[i];
      const side = /text-align:(right|center)/.exec(String(token?.attrGet('style')))?.[1];
      if (token) token.attrs = side === undefined ? null : [['class', side]];
      return renderer.renderToken(tokens, i, options);
    };
  }
}

/** Names each table after its section, so that screen readers can list the regions. */
function nameTables(tokens: readonly Token[], title = 'Table'): void {
  let [section, tables] = [title, 0];
  for (const [i, token] of tokens.entries()) {
    if (token.type === 'heading_open') [section, tables] = [textOf(tokens[i + 1]) || title, 0];
    if (token.type === 'table_open')
      token.attrSet(NAME, ++tables === 1 ? section : `${section}, table ${tables}`);
  }
}

const textOf = (inline: Token | undefined): string =>
  (inline?.children ?? []).map(({ content }) => content).join('');
