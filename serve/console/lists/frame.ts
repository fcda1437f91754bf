import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../infra/ports.ts';
import type { Registry } from '../../../ingest/chains/registry.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import type { Reader, Readers } from '../../http/readers.ts';
import type { Freshness } from '../../metrics/freshness.ts';
import { type Html, html } from '../../pages/html.ts';
import type { ListSection } from './list-page.ts';
import type { ListReader } from './list-reader.ts';

/** Dependencies of list pages. */
export interface ListPages {
  readonly accounts: Accounts;
  readonly readers: Readers;
  readonly listReader: ListReader;
  readonly registry: Registry;
  readonly freshness: Freshness;
  readonly clock: Clock;
  /** The public URL of the service. */
  readonly origin: () => string;
}

/** One request for a page of a list. */
export interface ListVisit extends ListPages {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly reader: Reader;
}

interface ListBody {
  readonly section: ListSection;
  /** The path of the tab that is open. */
  readonly tab: string;
  readonly title: string;
  readonly description: string;
  readonly body: Html;
  readonly status?: number;
  readonly script?: 'explorer.js';
}

/** Sends a page of a section, under its tabs. */
export function sendListPage(
  { reply }: ListVisit,
  { section, tab, title, description, body, status = 200, script }: ListBody,
): Promise<FastifyReply> {
  const tabs = section.pages.map(
    ({ path, tab: label }) =>
      html`<li><a href="${path}"${path === tab && html` aria-current="page"`}>${label}</a></li>`,
  );
  const page = html`${tabs.length > 1 && html`<nav class="tabs" aria-label="${section.name}"><ul>${tabs}</ul></nav>`}
${body}`;
  return reply.page({
    title: title === section.name ? title : `${title} · ${section.name}`,
    description,
    body: page,
    layout: 'wide',
    isPublic: true,
    status,
    ...(script && { script }),
  });
}
