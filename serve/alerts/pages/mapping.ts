import type { FastifyInstance, FastifyReply } from 'fastify';
import { labelOf, type SampleField } from '../../../aggregate/alerts/formats/mapping.ts';
import {
  MAPPED_FIELDS,
  type MappedField,
  type Mapping,
  type Path,
} from '../../../aggregate/alerts/model/mapping.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { EVENT_EXAMPLE } from '../integrations/pagerduty.ts';
import { type PayloadSizes, sampleFields } from '../integrations/samples.ts';
import { typeOf } from '../integrations/types.ts';
import { RequestRefused } from '../model/access.ts';
import type { Integration } from '../model/tables.ts';
import { type ProjectFrame, severityTag, type Visit } from './frame.ts';
import { integrationIdOf, ONE, pathOf } from './integration-paths.ts';
import { heading } from './integrations.ts';

const LABELS: Readonly<Record<MappedField, string>> = {
  title: 'Title',
  description: 'Description',
  start_time: 'Start time',
  end_time: 'End time',
  service: 'Service',
  monitoring_tool: 'Monitoring tool',
  hosts: 'Hosts',
  severity: 'Severity',
  fingerprint: 'Fingerprint',
  environment: 'Environment',
};

const EXAMPLE = `{
  "title": "Disk almost full",
  "description": "Less than 5 % are left on /var",
  "service": "database",
  "monitoring_tool": "Nagios",
  "hosts": ["db-1"],
  "severity": "high"
}`;

interface MappingPageParts extends Pick<AlertDomain, 'integrations' | 'testAlerts'> {
  readonly frame: ProjectFrame;
  readonly payloadSizes: PayloadSizes;
}

/** The mapping editor, and the form that sends a test alert. */
export function serveMappingPages(pages: FastifyInstance, parts: MappingPageParts): void {
  const { frame, integrations } = parts;
  pages.get(`${ONE}/mapping`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const integration = await integrations.get(visit.membership.project, integrationIdOf(request));
    return sendMapping(parts, reply, visit, integration, null);
  });
  pages.post(`${ONE}/sample`, async (_, reply) =>
    change(parts, reply, 'Sample payload saved. You can map its fields now.', (form) => ({
      sample: form.text('sample'),
    })),
  );
  pages.post(`${ONE}/mapping`, async (_, reply) =>
    change(parts, reply, 'Mapping saved.', (form) => {
      const chosen = MAPPED_FIELDS.flatMap((field): [MappedField, Path][] => {
        const text = form.text(field);
        return text === '' ? [] : [[field, pathIn(text)]];
      });
      return { mapping: Object.fromEntries(chosen) as Mapping };
    }),
  );
  serveTest(pages, parts);
}

/** Parses the value of an option: a path as JSON. Any other text becomes a path that no sample has. */
function pathIn(text: string): Path {
  try {
    const path: unknown = JSON.parse(text);
    return Array.isArray(path) ? (path as Path) : [text];
  } catch {
    return [text];
  }
}

async function change(
  parts: MappingPageParts,
  reply: FastifyReply,
  message: string,
  changes: (form: ReturnType<typeof formOf>) => { sample?: string; mapping?: Mapping },
): Promise<FastifyReply> {
  const { request } = reply;
  const { frame, integrations } = parts;
  const visit = await frame.visit(request, reply, 'Maintainer');
  const { project } = visit.membership;
  const id = integrationIdOf(request);
  try {
    const integration = await integrations.change(project, id, changes(formOf(request)));
    return seeOther(reply, `${pathOf(integration)}/mapping`, message);
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.status === 404) throw error;
    return sendMapping(parts, reply, visit, await integrations.get(project, id), error);
  }
}

async function sendMapping(
  parts: MappingPageParts,
  reply: FastifyReply,
  visit: Visit,
  integration: Integration,
  error: RequestRefused | null,
): Promise<FastifyReply> {
  const { request } = reply;
  const sample = formOf(request).text('sample') || integration.sample;
  const mapping = integration.mapping === '' ? {} : (JSON.parse(integration.mapping) as Mapping);
  const isPremium = visit.membership.project.plan === 'premium';
  const fields = integration.sample === '' ? [] : sampleFields(integration.sample, parts.payloadSizes);
  const base = pathOf(integration);
  const body = html`${heading(integration, 'mapping')}
${error && html`<p class="note bad" role="alert">${error.message}</p>`}
${!isPremium && html`<p class="note warn">Custom mapping requires the premium plan.</p>`}
<div class="columns even"><section class="card"><h2>1. Sample payload</h2><form method="post" action="${base}/sample">${visit.token}
<div class="field"><label for="sample">Payload of your tool</label><textarea id="sample" name="sample" rows="16" spellcheck="false" placeholder="${EXAMPLE}">${sample}</textarea>
<p class="hint">A JSON object. If you change the sample, you must map the fields again.</p></div><button class="second">Save sample</button></form></section>
<section class="card"><h2>2. Map fields</h2>${
    fields.length === 0
      ? html`<p class="empty">Save a sample payload first.</p>`
      : html`<form method="post" action="${base}/mapping">${visit.token}<div class="mapping">${MAPPED_FIELDS.map((field) => fieldRow(field, fields, mapping[field]))}</div><button>Save mapping</button></form>${await previewOf(parts, integration, mapping)}`
  }</section></div>`;
  return parts.frame.send(reply, visit, {
    tab: 'integrations',
    title: `Mapping of ${integration.name}`,
    body,
    status: error === null ? 200 : 422,
  });
}

function fieldRow(field: MappedField, fields: readonly SampleField[], chosen: Path | undefined): Html {
  const value = chosen === undefined ? '' : JSON.stringify(chosen);
  const fits = fields.filter(({ type }) => type !== 'array' || field === 'hosts' || field === 'fingerprint');
  return html`<label for="map-${field}">${LABELS[field]}</label><select id="map-${field}" name="${field}">
<option value="">Default field</option>${fits.map(({ path, type }) => {
    const text = JSON.stringify(path);
    return html`<option value="${text}"${text === value && html` selected`}>${labelOf(path)} (${type})</option>`;
  })}</select>`;
}

async function previewOf(
  { testAlerts }: MappingPageParts,
  integration: Integration,
  mapping: Mapping,
): Promise<Html> {
  const [item] = await testAlerts.preview(integration, mapping, integration.sample);
  if (!item) return html``;
  return html`<h2 class="spaced">Preview</h2><dl class="facts"><dt>Title</dt><dd>${item.title}</dd><dt>Severity</dt><dd>${severityTag(item)}</dd>
${item.description && html`<dt>Description</dt><dd>${item.description}</dd>`}${item.service && html`<dt>Service</dt><dd>${item.service}</dd>`}${item.hosts.length > 0 && html`<dt>Hosts</dt><dd>${item.hosts.join(', ')}</dd>`}
<dt>Resolves the alert</dt><dd>${item.effect === 'resolve' ? 'Yes' : 'No'}</dd></dl>`;
}

function serveTest(pages: FastifyInstance, parts: MappingPageParts): void {
  const { frame, integrations, testAlerts } = parts;
  const path = `${ONE}/test`;
  pages.get(path, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Developer');
    const integration = await integrations.get(visit.membership.project, integrationIdOf(request));
    return sendTestPage(frame, reply, visit, integration, null);
  });
  pages.post(path, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Developer');
    const { project } = visit.membership;
    const integration = await integrations.get(project, integrationIdOf(request));
    try {
      const { created, outcomes } = await testAlerts.send(
        project,
        integration.id,
        formOf(request).text('payload'),
      );
      const links = created.map(
        ({ iid, title }) => html` <a href="/projects/${project.id}/alerts/${iid}">#${iid} ${title}</a>`,
      );
      const result =
        created.length > 0
          ? html`<p class="note good" role="status">Test alert sent. It created${links}.</p>`
          : html`<p class="note good" role="status">Test alert sent. It created no new alert (${outcomes.join(', ')}).</p>`;
      return await sendTestPage(frame, reply, visit, integration, result);
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.status === 404) throw error;
      const result = html`<p class="note bad" role="alert">${error.message}</p>`;
      return sendTestPage(frame, reply, visit, integration, result, 422);
    }
  });
}

function sendTestPage(
  frame: ProjectFrame,
  reply: FastifyReply,
  visit: Visit,
  integration: Integration,
  result: Html | null,
  status = 200,
): Promise<FastifyReply> {
  const { request } = reply;
  const isEvent = typeOf(integration).endpoint.parser === 'pagerduty';
  const example = isEvent ? JSON.stringify(EVENT_EXAMPLE, null, 2) : EXAMPLE;
  const payload = formOf(request).text('payload') || integration.sample || example;
  const body = html`${heading(integration, 'test')}${result}
<section class="card"><form method="post" action="${pathOf(integration)}/test">${visit.token}
<div class="field"><label for="payload">Payload</label><textarea id="payload" name="payload" rows="14" spellcheck="false" required>${payload}</textarea>
<p class="hint">${isEvent ? 'An event of the Events API v2; it needs no key.' : 'JSON in the generic or the Prometheus format.'} This creates a real alert.</p></div>
<button>Send test alert</button></form></section>`;
  return frame.send(reply, visit, {
    tab: 'integrations',
    title: `Send test alert to ${integration.name}`,
    body,
    status,
  });
}
