import type MarkdownIt from 'markdown-it';
import { html } from './html.ts';

/** Long lines scroll, also by the keyboard. */
const block = (content = '') => html`<pre class="payload" tabindex="0"><code>${content}</code></pre>\n`.text;

/** Makes a parser write what the pages' policy and styles allow: code and tables that scroll, and no inline styles. */
export function writeAsPages({ renderer: { rules } }: InstanceType<typeof MarkdownIt>): void {
  rules.fence = (tokens, i) => block(tokens[i]?.content);
  rules.code_block = (tokens, i) => block(tokens[i]?.content);
  rules.table_open = () => '<div class="table" role="region" aria-label="Table" tabindex="0"><table>\n';
  rules.table_close = () => '</table></div>\n';
  // Alignment comes as inline style, which the policy of pages forbids.
  for (const name of ['th_open', 'td_open'] as const) {
    rules[name] = (tokens, i, options, _env, renderer) => {
      const token = tokens[i];
      const side = /text-align:(right|center)/.exec(String(token?.attrGet('style')))?.[1];
      if (token) token.attrs = side === undefined ? null : [['class', side]];
      return renderer.renderToken(tokens, i, options);
    };
  }
}
