import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import { formToken } from '../../http/pages/forms.ts';
import { type Html, html } from '../../http/pages/html.ts';
import { sendPage } from '../../http/pages/page.ts';
import { requireUser } from '../../identity/accounts/sessions.ts';
import type { User } from '../../identity/accounts/tables.ts';
import {
  type Membership,
  membershipOf,
  PROJECT_ROLES,
  type ProjectRole,
  requireRole,
} from '../projects/access.ts';
import type { AlertServices } from '../services.ts';

// What the pages of a project have in common.

const TABS = [
  { name: 'alerts', label: 'Alerts', least: 'Developer' },
  { name: 'incidents', label: 'Incidents', least: 'Reporter' },
  { name: 'analytics', label: 'Analytics', least: 'Reporter' },
  { name: 'integrations', label: 'Integrations', least: 'Developer' },
  { name: 'hooks', label: 'Webhooks', least: 'Maintainer' },
  { name: 'members', label: 'Members', least: 'Guest' },
  { name: 'settings', label: 'Settings', least: 'Maintainer' },
] as const;
export type Tab = (typeof TABS)[number]['name'];

export interface Visit {
  readonly user: User;
  readonly membership: Membership;
  /** The hidden field that every form needs. */
  readonly token: Html;
}

/** Who looks at which project; throws when they may not. */
export async function visitOf(
  services: AlertServices,
  request: FastifyRequest,
  reply: FastifyReply,
  role: ProjectRole,
): Promise<Visit> {
  const user = await requireUser(services.accounts, request);
  const { id = '' } = request.params as { id?: string };
  const membership = await membershipOf(services, id, user);
  requireRole(membership, role);
  const token = await formToken(services.accounts, request, reply);
  return { user, membership, token };
}

export interface ProjectPage {
  readonly tab: Tab;
  readonly title: string;
  readonly body: Html;
  readonly status?: number;
}

/** A page inside a project, with its name and its tabs. */
export function sendProjectPage(
  services: AlertServices,
  request: FastifyRequest,
  reply: FastifyReply,
  { membership: { project, level } }: Visit,
  { tab, title, body, status = 200 }: ProjectPage,
): Promise<FastifyReply> {
  const tabs = TABS.filter(({ least }) => level >= PROJECT_ROLES[least]).map(
    ({ name, label }) =>
      html`<li><a href="/projects/${project.id}/${name}"${name === tab && html` aria-current="page"`}>${label}</a></li>`,
  );
  const page = html`<p class="trail"><a href="/projects">Projects</a> / ${project.name}</p>
<nav class="tabs" aria-label="Project"><ul>${tabs}</ul></nav>
${body}`;
  return sendPage(services.accounts, request, reply, {
    title: `${title} · ${project.name}`,
    body: page,
    layout: 'wide',
    status,
  });
}

export const severityTag = ({ severity }: Pick<Alert, 'severity'>): Html =>
  html`<span class="severity ${severity}">${severity}</span>`;

export const statusTag = ({ status }: Pick<Alert, 'status'>): Html =>
  html`<span class="tag status-${status}">${status}</span>`;

/** How long ago something was, as people say it; the exact moment stands in the title. */
export function ago(ms: number, now: number): Html {
  if (ms === 0) return html`–`;
  const date = new Date(ms).toISOString();
  return html`<time datetime="${date}" title="${date}">${agoText(now - ms)}</time>`;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

function agoText(ms: number): string {
  const [unit, size] = UNITS.find(([, size]) => ms >= size) ?? ['s', 1000];
  return ms < 1000 ? 'just now' : `${Math.floor(ms / size)} ${unit} ago`;
}

/** A drop-down of values and their labels. */
export function select(
  name: string,
  label: string,
  options: readonly (readonly [value: string, label: string])[],
  chosen: string,
): Html {
  return html`<label>${label}<select name="${name}">${options.map(
    ([value, text]) => html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`,
  )}</select></label>`;
}
