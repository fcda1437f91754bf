import type { FastifyInstance } from 'fastify';
import { METRIC_DOMAINS } from '../../../aggregate/metric.ts';
import { type Guide, readGuides } from '../../guides/guides.ts';
import type { ChainFacts } from '../../metrics/freshness.ts';
import { html } from '../../pages/html.ts';
import { SITE_NAVIGATION } from '../../pages/navigation.ts';
import { chainName, relayName } from '../series/names.ts';
import { type ConsolePages, queryOf, sendPublicPage } from './console-pages.ts';
import { isFound } from './metrics.ts';
import { shownMetrics } from './shown-metrics.ts';

const WORDS_CHARS_MAX = 100;
const FOUND_MAX = 40;
/** Contracts have H160 addresses; owners of contract code have SS58 addresses. */
const contractLists = [
  { pattern: /^0x[0-9a-fA-F]{40}$/, path: '/contracts', kind: 'Contract' },
  { pattern: /^[1-9A-HJ-NP-Za-km-z]{40,60}$/, path: '/contracts/codes', kind: 'Owner of contract code' },
];

interface Found {
  readonly href: string;
  readonly title: string;
  /** Shown beside the title. */
  readonly detail?: string;
  readonly kind: string;
}

/** Serves the search: metrics, chains, contracts by address, referenda by number, guides by text, and site sections. */
export function serveSearch(pages: FastifyInstance, sources: ConsolePages): void {
  const guides = [...readGuides().values()].flat();
  pages.get('/search', async (request, reply) => {
    const words = (queryOf(request).get('q') ?? '').slice(0, WORDS_CHARS_MAX).trim();
    await sources.freshness.refresh();
    const found = words === '' ? [] : find(words, sources.freshness.chains, guides).slice(0, FOUND_MAX);
    const body = html`<h1>Search</h1>
<form class="search" method="get" action="/search"><label>Metrics, chains, referenda, contracts <input type="search" name="q" value="${words}" maxlength="${WORDS_CHARS_MAX}"></label><button>Search</button></form>
${words !== '' && found.length === 0 && html`<p class="empty">No results match all of these words. <a href="/charts">See all metrics</a></p>`}
<ul class="found" data-found>${found.map(({ href, title, detail, kind }) => html`<li><a href="${href}"><b>${title}</b> <span>${kind}</span>${detail && html`<small>${detail}</small>`}</a></li>`)}</ul>`;
    return sendPublicPage(reply, {
      title: words === '' ? 'Search' : `${words} · Search`,
      body,
    });
  });
}

function find(words: string, chains: readonly ChainFacts[], guides: readonly Guide[]): Found[] {
  const has = (text: string) =>
    words
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.toLowerCase().includes(word));
  const number = /^#?(\d{1,9})$/.exec(words)?.[1];
  return [
    ...(number === undefined
      ? []
      : ['polkadot', 'kusama'].map((relay) => ({
          href: `/governance/referenda/${relay}/${number}`,
          title: `Referendum ${number} of ${relayName(relay)}`,
          kind: 'Governance',
        }))),
    ...contractLists
      .filter(({ pattern }) => pattern.test(words))
      .map(({ path, kind }) => ({ href: `${path}?addresses=${words}`, title: words, kind })),
    ...SITE_NAVIGATION.filter(({ label }) => has(label)).map(({ href, label }) => ({
      href,
      title: label,
      kind: 'Page',
    })),
    ...chains
      .filter(({ relay_chain, chain }) => has(`${relay_chain} ${chainName(`${relay_chain}/${chain}`)}`))
      .map(({ relay_chain, chain }) => ({
        href: `/chains/${chain}`,
        title: chainName(`${relay_chain}/${chain}`),
        kind: 'Chain',
      })),
    ...shownMetrics
      .filter((one) => isFound(one, words))
      .sort((a, b) => Number(has(b.title)) - Number(has(a.title)))
      .map(({ id, title, metric, endpoint }) => ({
        href: `/charts/${id}`,
        title,
        detail: endpoint.summary,
        kind: METRIC_DOMAINS[metric.domain],
      })),
    ...guides
      .filter(({ title, text }) => has(`${title} ${text}`))
      .map(({ name, title, summary }) => ({
        href: `/docs/guides/${name}`,
        title,
        detail: summary,
        kind: 'Guide',
      })),
  ];
}
