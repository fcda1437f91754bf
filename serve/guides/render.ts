import MarkdownIt from 'markdown-it';
import { copyButton } from '../pages/fields.ts';
import { Html, html } from '../pages/html.ts';
import { writeAsPages } from '../pages/markdown-rules.ts';
import type { Guide } from './guides.ts';

interface Heading {
  readonly id: string;
  readonly text: string;
}

/** A guide as HTML, and its sections. */
export interface RenderedGuide {
  readonly body: Html;
  readonly headings: readonly Heading[];
}

/** The address that commands of guides have in files. */
const LOCAL = 'http://localhost:3000';

const parser = new MarkdownIt({ html: false });
writeAsPages(parser);
const { fence } = parser.renderer.rules;
/** Code can be copied as a whole, and its commands ask the server that the page is from. */
parser.renderer.rules.fence = (tokens, i, options, env, renderer) => {
  const page = env as unknown as { readonly origin: string; blocks: number };
  const token = tokens[i];
  if (token) token.content = token.content.replaceAll(LOCAL, page.origin);
  const id = `code-${++page.blocks}`;
  const code = new Html(fence?.(tokens, i, options, env, renderer) ?? '');
  return html`<div class="code"><div id="${id}">${code}</div>${copyButton(id, `code ${page.blocks}`)}</div>
`.text;
};

/** Renders a text of this project below its title. Links between its files become links between pages. */
export function renderGuide(
  { title, text }: Pick<Guide, 'title' | 'text'>,
  origin: string = LOCAL,
): RenderedGuide {
  const tokens = parser.parse(text, { title });
  const headings: Heading[] = [];
  for (const [i, token] of tokens.entries()) {
    for (const child of token.children ?? []) {
      if (child.type === 'link_open') child.attrSet('href', pageOf(String(child.attrGet('href'))));
    }
    if (token.type !== 'heading_open') continue;
    const heading = headingOf(tokens[i + 1]?.content ?? '');
    token.attrSet('id', heading.id);
    if (token.tag === 'h2') headings.push(heading);
  }
  return { body: new Html(parser.renderer.render(tokens, parser.options, { origin, blocks: 0 })), headings };
}

/** A heading has the address that hosts of repositories give it, so that links work in files and on pages. */
function headingOf(content: string): Heading {
  const text = content.replaceAll('`', '');
  return {
    text,
    id: text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  };
}

/** `api.md#paging` and `../../SECURITY.md` are files of the repository and pages of the service. */
function pageOf(href: string): string {
  const [, file, hash = ''] = /^(?:[^:#]*\/)?([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  return file === undefined ? href : `/docs/guides/${file.toLowerCase()}${hash}`;
}
