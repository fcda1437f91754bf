import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../infra/ports.ts';
import type { Registry } from '../../../ingest/chains/registry.ts';
import type { Reader, Readers } from '../../http/readers.ts';
import type { Freshness } from '../../metrics/freshness.ts';
import type { PageAccounts } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { sendPage } from '../../pages/page.ts';
import type { RecordSection } from './record-page.ts';
import type { RecordReader } from './record-reader.ts';

/** What the pages of records stand on. */
export interface RecordPages {
  readonly accounts: PageAccounts;
  readonly readers: Readers;
  readonly records: RecordReader;
  readonly registry: Registry;
  readonly freshness: Freshness;
  readonly clock: Clock;
  /** The address of this service. */
  readonly origin: () => string;
}

/** One request for a page of records. */
export interface RecordVisit extends RecordPages {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly reader: Reader;
}

export interface RecordBody {
  readonly section: RecordSection;
  /** The path of the tab that is open. */
  readonly tab: string;
  readonly title: string;
  readonly description: string;
  readonly body: Html;
  readonly status?: number;
  readonly script?: 'explorer.js';
}

/** Sends a page of a section, under its tabs. */
export function sendRecords(
  { accounts, request, reply }: RecordVisit,
  { section, tab, title, description, body, status = 200, script }: RecordBody,
): Promise<FastifyReply> {
  const tabs = section.pages.map(
    ({ path, tab: label }) =>
      html`<li><a href="${path}"${path === tab && html` aria-current="page"`}>${label}</a></li>`,
  );
  const page = html`${tabs.length > 1 && html`<nav class="tabs" aria-label="${section.name}"><ul>${tabs}</ul></nav>`}
${body}`;
  return sendPage(accounts, request, reply, {
    title: title === section.name ? title : `${title} · ${section.name}`,
    description,
    body: page,
    layout: 'wide',
    isPublic: true,
    status,
    ...(script && { script }),
  });
}
