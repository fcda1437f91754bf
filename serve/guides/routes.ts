import type { FastifyInstance } from 'fastify';
import type { Accounts } from '../accounts/accounts.ts';
import { HttpError } from '../http/errors.ts';
import { type Html, html } from '../pages/html.ts';
import { type Page, servePages } from '../pages/page.ts';
import { type Guide, readGuides } from './guides.ts';
import { type RenderedGuide, renderGuide } from './render.ts';

const PATH = '/docs/guides';

/** Serves the guides as pages, whose commands ask `origin`. `protect` is registered before them. */
export async function serveGuides(
  app: FastifyInstance,
  accounts: Accounts,
  origin: () => string,
  protect: (pages: FastifyInstance) => void,
): Promise<void> {
  const groups = readGuides();
  const guides = new Map([...groups.values()].flat().map((guide) => [guide.name, guide]));
  const rendered = new Map<Guide, RenderedGuide>();
  const renderOnce = (guide: Guide) => {
    const known = rendered.get(guide) ?? renderGuide(guide, origin());
    rendered.set(guide, known);
    return known;
  };
  await servePages(app, accounts, async (pages) => {
    protect(pages);
    pages.get(PATH, (_, reply) => reply.page({ ...PUBLIC, title: 'Guides', body: contents(groups) }));
    pages.get<{ Params: { name: string } }>(`${PATH}/:name`, (request, reply) => {
      const guide = guides.get(request.params.name);
      if (!guide)
        throw new HttpError(
          'not_found',
          'There is no guide at this address. All guides are at /docs/guides.',
        );
      const body = page(guide, renderOnce(guide), groups);
      return reply.page({
        ...PUBLIC,
        title: guide.title,
        description: guide.summary,
        body,
        script: 'copy.js',
      });
    });
  });
}

const PUBLIC = { layout: 'wide', isPublic: true } as const satisfies Partial<Page>;

type Groups = ReadonlyMap<string, readonly Guide[]>;

const contents = (groups: Groups): Html => html`<h1>Guides</h1>
<p class="lead">How to read, build on and run Chain Metrics. Every path, to try: <a href="/docs">API reference</a> · <a href="/openapi.json">OpenAPI document</a> · <a href="/charts">charts</a></p>
<div class="guides">${[...groups].map(
  ([group, guides]) => html`<section class="card"><h2>${group}</h2>
<ul>${guides.map(({ name, title, summary }) => html`<li><a href="${PATH}/${name}">${title}</a><p class="hint">${summary}</p></li>`)}</ul></section>`,
)}</div>`;

function page({ name, title }: Guide, { body, headings }: RenderedGuide, groups: Groups): Html {
  const others = [...groups].map(
    ([group, guides]) =>
      html`<h2>${group}</h2><ul>${guides.map(
        (one) =>
          html`<li><a href="${PATH}/${one.name}"${one.name === name && html` aria-current="page"`}>${one.title}</a></li>`,
      )}</ul>`,
  );
  return html`<div class="guide"><nav class="guides" aria-label="Guides">${others}</nav>
<article><h1>${title}</h1>
${headings.length > 2 && html`<nav class="sections" aria-label="On this page"><ul>${headings.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)}</ul></nav>`}
<div class="markdown">${body}</div></article></div>`;
}
