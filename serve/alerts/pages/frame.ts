import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import { DAY_MS, HOUR_MS } from '../../../infra/days.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import type { User } from '../../accounts/tables.ts';
import type { QueryStore, Readers } from '../../http/readers.ts';
import { type Html, html } from '../../pages/html.ts';
import { type Membership, PROJECT_ROLES, type ProjectRole, requireRole } from '../model/access.ts';
import type { Projects } from '../projects/projects.ts';

const TABS = [
  { name: 'alerts', label: 'Alerts', least: 'Developer' },
  { name: 'incidents', label: 'Incidents', least: 'Reporter' },
  { name: 'analytics', label: 'Analytics', least: 'Reporter' },
  { name: 'oncall', label: 'On call', least: 'Reporter' },
  { name: 'escalation', label: 'Escalation', least: 'Reporter' },
  { name: 'routes', label: 'Routes', least: 'Reporter' },
  { name: 'silences', label: 'Silences', least: 'Reporter' },
  { name: 'maintenance', label: 'Maintenance', least: 'Reporter' },
  { name: 'channels', label: 'Channels', least: 'Reporter' },
  { name: 'integrations', label: 'Integrations', least: 'Developer' },
  { name: 'hooks', label: 'Webhooks', least: 'Maintainer' },
  { name: 'members', label: 'Members', least: 'Guest' },
  { name: 'settings', label: 'Settings', least: 'Maintainer' },
] as const;
type Tab = (typeof TABS)[number]['name'];

/** The number of the alert or incident in the URL; 0 if there is none. */
export const iidOf = (request: FastifyRequest): number =>
  Math.floor(Number((request.params as { iid: string }).iid)) || 0;

export interface Visit {
  readonly user: User;
  readonly membership: Membership;
  /** The hidden field that protects forms against cross-site requests. */
  readonly token: Html;
  /** Runs queries within the limits of the user. */
  readonly store: QueryStore;
}

export interface ProjectPage {
  readonly tab: Tab;
  readonly title: string;
  readonly body: Html;
  readonly status?: number;
  readonly script?: 'alerts.js';
}

interface FrameDependencies {
  readonly accounts: Accounts;
  readonly projects: Projects;
  readonly readers: Readers;
}

/** The frame of the pages of a project. */
export class ProjectFrame {
  readonly accounts: Accounts;
  readonly #projects: Projects;
  readonly #readers: Readers;

  constructor({ accounts, projects, readers }: FrameDependencies) {
    this.accounts = accounts;
    this.#projects = projects;
    this.#readers = readers;
  }

  /** The signed-in user, and the store within the user's limits. */
  async signedIn(request: FastifyRequest, reply: FastifyReply): Promise<Pick<Visit, 'user' | 'store'>> {
    const user = await request.requireUser();
    request.knownAccount = user.id;
    return { user, store: this.#readers.storeOf(request, reply) };
  }

  /** The signed-in user and the project of the path. Throws if the user does not have the role. */
  async visit(request: FastifyRequest, reply: FastifyReply, role: ProjectRole): Promise<Visit> {
    const { user, store } = await this.signedIn(request, reply);
    const { id = '' } = request.params as { id?: string };
    const membership = await this.#projects.membershipOf(id, user);
    requireRole(membership, role);
    const token = await reply.formToken();
    return { user, membership, token, store };
  }

  /** Sends a page with the name of the project and its tabs. */
  send(
    reply: FastifyReply,
    { membership: { project, level } }: Visit,
    { tab, title, body, status = 200, script }: ProjectPage,
  ): Promise<FastifyReply> {
    const tabs = TABS.filter(({ least }) => level >= PROJECT_ROLES[least]).map(
      ({ name, label }) =>
        html`<li><a href="/projects/${project.id}/${name}"${name === tab && html` aria-current="page"`}>${label}</a></li>`,
    );
    const page = html`<p class="trail"><a href="/projects">Projects</a> › ${project.name}</p>
<nav class="tabs" aria-label="Project"><ul>${tabs}</ul></nav>
${body}`;
    return reply.page({
      title: `${title} · ${project.name}`,
      body: page,
      layout: 'wide',
      status,
      ...(script === undefined ? {} : { script }),
    });
  }
}

export const severityTag = ({ severity }: Pick<Alert, 'severity'>): Html =>
  html`<span class="severity ${severity}">${severity}</span>`;

export const statusTag = ({ status }: Pick<Alert, 'status'>): Html =>
  html`<span class="tag status-${status}">${status}</span>`;

/** A relative time; its title is the exact time. */
export function ago(ms: number, now: number): Html {
  if (ms === 0) return html`–`;
  const date = new Date(ms).toISOString();
  return html`<time datetime="${date}" title="${date}">${agoText(now - ms)}</time>`;
}

const UNITS = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
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
