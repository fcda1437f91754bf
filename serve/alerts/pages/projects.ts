import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { button, table, textField, time } from '../../http/pages/fields.ts';
import { formOf, formToken } from '../../http/pages/forms.ts';
import { html } from '../../http/pages/html.ts';
import { seeOther, sendPage } from '../../http/pages/page.ts';
import { requireUser } from '../../identity/accounts/sessions.ts';
import type { User } from '../../identity/accounts/tables.ts';
import { PROJECT_ROLES, RequestRefused, requireRole, roleOf } from '../projects/access.ts';
import {
  changeProject,
  createProject,
  deleteProject,
  membersOf,
  projectsOf,
  setMember,
  userNamed,
} from '../projects/projects.ts';
import { countAlerts } from '../projects/reading.ts';
import type { AlertServices } from '../services.ts';
import { select, sendProjectPage, visitOf } from './frame.ts';

/** Projects, their members and their settings. */
export function serveProjectPages(pages: FastifyInstance, services: AlertServices): void {
  pages.get('/projects', async (request, reply) => {
    const user = await requireUser(services.accounts, request);
    return sendProjects(services, request, reply, user, null);
  });
  pages.post('/projects', async (request, reply) => {
    const user = await requireUser(services.accounts, request);
    try {
      const project = await createProject(services, user, { name: formOf(request).text('name') });
      return seeOther(
        reply,
        `/projects/${project.id}/integrations`,
        'The project is made. Connect a source of alerts.',
      );
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      return sendProjects(services, request, reply, user, error);
    }
  });
  pages.get('/projects/:id', async (request, reply) => {
    const { membership } = await visitOf(services, request, reply, 'Guest');
    const tab = membership.level >= PROJECT_ROLES.Developer ? 'alerts' : 'members';
    return seeOther(reply, `/projects/${membership.project.id}/${tab}`);
  });
  serveMembers(pages, services);
  serveSettings(pages, services);
}

async function sendProjects(
  services: AlertServices,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  error: RequestRefused | null,
): Promise<FastifyReply> {
  const token = await formToken(services.accounts, request, reply);
  const found = await projectsOf(services, user);
  const rows = await Promise.all(
    found.map(async ({ project, level }) => {
      const counts =
        level >= PROJECT_ROLES.Developer ? await countAlerts(services, Number(project.id), {}) : null;
      return [
        html`<a href="/projects/${project.id}">${project.name}</a>`,
        html`${roleOf(level)}`,
        counts === null
          ? html`–`
          : html`<span class="tag ${counts.open > 0 ? 'warn' : 'good'}">${counts.open} open</span>`,
        html`<span class="tag">${project.plan}</span>`,
        time(project.created_ms),
      ];
    }),
  );
  const body = html`<h1>Projects</h1><p class="lead">A project takes in the alerts of your monitoring tools and groups them.</p>
${table({ caption: 'Projects', head: ['Name', 'Your role', 'Alerts', 'Plan', 'Created'], rows, empty: 'You are in no project yet. Make one below, or ask to be added to one.' })}
<section class="card"><h2>New project</h2><form method="post" action="/projects">${token}
${textField({ name: 'name', label: 'Name', value: formOf(request).text('name'), hint: 'Such as the team or the system that is watched.', fault: error?.message })}
<button>Make the project</button></form></section>`;
  return sendPage(services.accounts, request, reply, {
    title: 'Projects',
    body,
    layout: 'wide',
    status: error === null ? 200 : 422,
  });
}

const LEVEL_OPTIONS = Object.entries(PROJECT_ROLES).map(([role, level]): [string, string] => [
  String(level),
  role,
]);

function serveMembers(pages: FastifyInstance, services: AlertServices): void {
  const path = '/projects/:id/members';
  pages.get(path, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Guest');
    const { project, level } = visit.membership;
    const mayChange = level >= PROJECT_ROLES.Maintainer;
    const members = await membersOf(services, project.id);
    const base = `/projects/${project.id}/members`;
    const rows = members.map(({ user, level: of, since }) => [
      html`@${user.username} <span class="under">${user.name}</span>`,
      mayChange && of <= level
        ? html`<form class="inline" method="post" action="${base}/change">${visit.token}<input type="hidden" name="user" value="${user.id}">
<select name="level" aria-label="Role of ${user.username}">${LEVEL_OPTIONS.filter(([value]) => Number(value) <= level).map(([value, label]) => html`<option value="${value}"${Number(value) === of && html` selected`}>${label}</option>`)}</select><button class="second small">Change</button></form>`
        : html`${roleOf(of)}`,
      time(since),
      (mayChange && of <= level) || user.id === visit.user.id
        ? html`<form method="post" action="${base}/remove">${visit.token}<input type="hidden" name="user" value="${user.id}"><button class="danger small">${user.id === visit.user.id ? 'Leave' : 'Remove'}</button></form>`
        : html``,
    ]);
    const body = html`<h1>Members</h1>
${table({ caption: 'Members', head: ['Member', 'Role', 'Since', ''], rows, empty: '' })}
${
  mayChange &&
  html`<section class="card"><h2>Add a member</h2><form method="post" action="${base}/add">${visit.token}
${textField({ name: 'user', label: 'User name', hint: 'As it stands in their profile.' })}
<div class="picker">${select(
    'level',
    'Role',
    LEVEL_OPTIONS.filter(([value]) => Number(value) <= level),
    '30',
  )}<button>Add</button></div></form>
<dl class="facts"><dt>Guest</dt><dd>sees the project and its members</dd><dt>Reporter</dt><dd>sees incidents and analytics</dd><dt>Developer</dt><dd>works on alerts, sends test alerts</dd><dt>Maintainer</dt><dd>sets up integrations, webhooks and members</dd><dt>Owner</dt><dd>also changes the plan and deletes the project</dd></dl></section>`
}`;
    return sendProjectPage(services, request, reply, visit, { tab: 'members', title: 'Members', body });
  });
  for (const mode of ['add', 'change', 'remove'] as const) {
    pages.post(`${path}/${mode}`, async (request, reply) => {
      const visit = await visitOf(services, request, reply, 'Guest');
      const form = formOf(request);
      const base = `/projects/${visit.membership.project.id}/members`;
      try {
        const user = await userNamed(services, form.text('user'));
        if (mode !== 'remove' || user.id !== visit.user.id) requireRole(visit.membership, 'Maintainer');
        await setMember(
          services,
          visit.membership,
          user,
          mode === 'remove' ? 0 : Number(form.text('level')),
          mode,
        );
        if (mode === 'remove' && user.id === visit.user.id)
          return seeOther(reply, '/projects', 'You left the project.');
        return seeOther(reply, base, 'The members are changed.');
      } catch (error) {
        if (!(error instanceof RequestRefused)) throw error;
        return seeOther(reply, base, error.message, 'bad');
      }
    });
  }
}

function serveSettings(pages: FastifyInstance, services: AlertServices): void {
  const path = '/projects/:id/settings';
  pages.get(path, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Maintainer');
    const { project, level } = visit.membership;
    const isOwner = level >= PROJECT_ROLES.Owner;
    const base = `/projects/${project.id}/settings`;
    const check = (name: string, isOn: boolean, title: string, detail: string) =>
      html`<label class="choice"><input type="checkbox" name="${name}" value="on"${isOn && html` checked`}><div><b>${title}</b><span>${detail}</span></div></label>`;
    const body = html`<h1>Settings</h1><section class="card"><form method="post" action="${base}">${visit.token}
${textField({ name: 'name', label: 'Name', value: project.name })}
<fieldset class="field"><legend>Incidents</legend>
${check('makes_incidents', project.makes_incidents, 'Make an incident of every new alert', 'Its text is the description of the alert and the Markdown that the source adds.')}
${check('closes_incidents', project.closes_incidents, 'Close the incident when its alert is resolved', 'Closing an incident by hand resolves its alert in any case.')}</fieldset>
${
  isOwner &&
  html`<div class="picker">${select(
    'plan',
    'Plan',
    [
      ['premium', 'Premium: many endpoints, mapping, grouping by payload'],
      ['free', 'Free: one HTTP endpoint'],
    ],
    project.plan,
  )}</div>`
}
<button>Save</button></form></section>
${isOwner && html`<section class="card"><h2>Delete the project</h2><p>Its webhooks stop at once.</p>${button(`${base}/delete`, visit.token, 'Delete the project', `Delete ${project.name}`, 'danger')}</section>`}`;
    return sendProjectPage(services, request, reply, visit, { tab: 'settings', title: 'Settings', body });
  });
  pages.post(path, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Maintainer');
    const form = formOf(request);
    const plan = form.text('plan');
    const isPlan = plan === 'free' || plan === 'premium';
    if (isPlan && plan !== visit.membership.project.plan) requireRole(visit.membership, 'Owner');
    await changeProject(services, visit.membership.project.id, {
      name: form.text('name'),
      makes_incidents: form.has('makes_incidents'),
      closes_incidents: form.has('closes_incidents'),
      ...(isPlan ? { plan } : {}),
    });
    return seeOther(reply, `/projects/${visit.membership.project.id}/settings`, 'The settings are saved.');
  });
  pages.post(`${path}/delete`, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Owner');
    await deleteProject(services, visit.membership.project.id);
    return seeOther(reply, '/projects', 'The project is deleted.');
  });
}
