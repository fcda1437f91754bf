import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { labelOf, type SampleField } from '../../../aggregate/alerts/formats/mapping.ts';
import {
  MAPPED_FIELDS,
  type MappedField,
  type Mapping,
  type Path,
} from '../../../aggregate/alerts/model/mapping.ts';
import { formOf } from '../../http/pages/forms.ts';
import { type Html, html } from '../../http/pages/html.ts';
import { seeOther } from '../../http/pages/page.ts';
import { changeIntegration, integrationOf, preview, sampleFields } from '../integrations/integrations.ts';
import { sendTest } from '../integrations/test-alert.ts';
import { RequestRefused } from '../projects/access.ts';
import type { Integration } from '../projects/tables.ts';
import type { AlertServices } from '../services.ts';
import { sendProjectPage, severityTag, type Visit, visitOf } from './frame.ts';
import { heading, integrationIdOf, ONE, pathOf } from './integrations.ts';

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

/** The mapping editor, and the form that sends a test alert. */
export function serveMappingPages(pages: FastifyInstance, services: AlertServices): void {
  pages.get(`${ONE}/mapping`, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Maintainer');
    const integration = await integrationOf(services, visit.membership.project, integrationIdOf(request));
    return sendMapping(services, request, reply, visit, integration, null);
  });
  pages.post(`${ONE}/sample`, async (request, reply) =>
    change(services, request, reply, 'The sample is saved. Now map its fields.', (form) => ({
      sample: form.text('sample'),
    })),
  );
  pages.post(`${ONE}/mapping`, async (request, reply) =>
    change(services, request, reply, 'The mapping is saved.', (form) => {
      const chosen = MAPPED_FIELDS.flatMap((field): [MappedField, Path][] => {
        const text = form.text(field);
        return text === '' ? [] : [[field, pathIn(text)]];
      });
      return { mapping: Object.fromEntries(chosen) as Mapping };
    }),
  );
  serveTest(pages, services);
}

/** The value of an option is its path; anything else that somebody sends leads nowhere. */
function pathIn(text: string): Path {
  try {
    const path: unknown = JSON.parse(text);
    return Array.isArray(path) ? (path as Path) : [text];
  } catch {
    return [text];
  }
}

async function change(
  services: AlertServices,
  request: FastifyRequest,
  reply: FastifyReply,
  note: string,
  changes: (form: ReturnType<typeof formOf>) => { sample?: string; mapping?: Mapping },
): Promise<FastifyReply> {
  const visit = await visitOf(services, request, reply, 'Maintainer');
  const { project } = visit.membership;
  const id = integrationIdOf(request);
  try {
    const integration = await changeIntegration(services, project, id, changes(formOf(request)));
    return seeOther(reply, `${pathOf(integration)}/mapping`, note);
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.status === 404) throw error;
    return sendMapping(services, request, reply, visit, await integrationOf(services, project, id), error);
  }
}

async function sendMapping(
  services: AlertServices,
  request: FastifyRequest,
  reply: FastifyReply,
  visit: Visit,
  integration: Integration,
  error: RequestRefused | null,
): Promise<FastifyReply> {
  const sample = formOf(request).text('sample') || integration.sample;
  const mapping = integration.mapping === '' ? {} : (JSON.parse(integration.mapping) as Mapping);
  const isPremium = visit.membership.project.plan === 'premium';
  const fields = integration.sample === '' ? [] : sampleFields(services, integration.sample);
  const base = pathOf(integration);
  const body = html`${heading(integration, 'mapping')}
${error && html`<p class="note bad" role="alert">${error.message}</p>`}
${!isPremium && html`<p class="note warn">Custom mapping needs the premium plan.</p>`}
<div class="columns even"><section class="card"><h2>1. Sample payload</h2><form method="post" action="${base}/sample">${visit.token}
<div class="field"><label for="sample">What your tool sends</label><textarea id="sample" name="sample" rows="16" spellcheck="false" placeholder="${EXAMPLE}">${sample}</textarea>
<p class="hint">JSON. Another sample asks for the mapping again.</p></div><button class="second">Save the sample</button></form></section>
<section class="card"><h2>2. Where the fields are</h2>${
    fields.length === 0
      ? html`<p class="empty">Save a sample first.</p>`
      : html`<form method="post" action="${base}/mapping">${visit.token}<div class="mapping">${MAPPED_FIELDS.map((field) => fieldRow(field, fields, mapping[field]))}</div><button>Save the mapping</button></form>${previewOf(services, integration, mapping)}`
  }</section></div>`;
  return sendProjectPage(services, request, reply, visit, {
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
<option value="">as it is named by default</option>${fits.map(({ path, type }) => {
    const text = JSON.stringify(path);
    return html`<option value="${text}"${text === value && html` selected`}>${labelOf(path)} (${type})</option>`;
  })}</select>`;
}

function previewOf(services: AlertServices, integration: Integration, mapping: Mapping): Html {
  const [item] = preview(services, integration, mapping, integration.sample);
  if (!item) return html``;
  return html`<h2 class="spaced">The sample becomes</h2><dl class="facts"><dt>Title</dt><dd>${item.title}</dd><dt>Severity</dt><dd>${severityTag(item)}</dd>
${item.description && html`<dt>Description</dt><dd>${item.description}</dd>`}${item.service && html`<dt>Service</dt><dd>${item.service}</dd>`}${item.hosts.length > 0 && html`<dt>Hosts</dt><dd>${item.hosts.join(', ')}</dd>`}
<dt>It is over</dt><dd>${item.recovers ? 'yes: it resolves the alert' : 'no'}</dd></dl>`;
}

function serveTest(pages: FastifyInstance, services: AlertServices): void {
  const path = `${ONE}/test`;
  pages.get(path, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Developer');
    const integration = await integrationOf(services, visit.membership.project, integrationIdOf(request));
    return sendTestPage(services, request, reply, visit, integration, null);
  });
  pages.post(path, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Developer');
    const { project } = visit.membership;
    const integration = await integrationOf(services, project, integrationIdOf(request));
    try {
      const { created, outcomes } = await sendTest(
        services,
        project,
        integration.id,
        formOf(request).text('payload'),
      );
      const links = created.map(
        ({ iid, title }) => html` <a href="/projects/${project.id}/alerts/${iid}">#${iid} ${title}</a>`,
      );
      const told =
        created.length > 0
          ? html`<p class="note good" role="status">The test alert arrived and made${links}.</p>`
          : html`<p class="note good" role="status">The test alert arrived: ${outcomes.join(', ')}. It made no new alert.</p>`;
      return await sendTestPage(services, request, reply, visit, integration, told);
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.status === 404) throw error;
      const told = html`<p class="note bad" role="alert">${error.message}</p>`;
      return sendTestPage(services, request, reply, visit, integration, told, 422);
    }
  });
}

function sendTestPage(
  services: AlertServices,
  request: FastifyRequest,
  reply: FastifyReply,
  visit: Visit,
  integration: Integration,
  told: Html | null,
  status = 200,
): Promise<FastifyReply> {
  const payload = formOf(request).text('payload') || integration.sample || EXAMPLE;
  const body = html`${heading(integration, 'test')}${told}
<section class="card"><form method="post" action="${pathOf(integration)}/test">${visit.token}
<div class="field"><label for="payload">Payload</label><textarea id="payload" name="payload" rows="14" spellcheck="false" required>${payload}</textarea>
<p class="hint">JSON, generic or in the Prometheus format. It goes the way of every alert and makes a real one.</p></div>
<button>Send</button></form></section>`;
  return sendProjectPage(services, request, reply, visit, {
    tab: 'integrations',
    title: `Test of ${integration.name}`,
    body,
    status,
  });
}
