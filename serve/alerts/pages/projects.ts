import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Form } from '../../http/form.ts';
import { table, textField, time } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { PROJECT_ROLES, RequestRefused, requireRole, roleOf } from '../model/access.ts';
import { serveConfirmationPage } from './confirmation-page.ts';
import { type ProjectFrame, select, type Visit } from './frame.ts';

type ProjectPageParts = Pick<AlertDomain, 'members' | 'projects' | 'reader'>;

/** Projects, their members and their settings. */
export function serveProjectPages(
  pages: FastifyInstance,
  frame: ProjectFrame,
  domain: ProjectPageParts,
): void {
  pages.get('/projects', async (_, reply) => sendProjects(frame, domain, reply, null));
  pages.post('/projects', async (request, reply) => {
    const { user } = await frame.signedIn(request, reply);
    try {
      const project = await domain.projects.create(user, { name: formOf(request).text('name') });
      return seeOther(
        reply,
        `/projects/${project.id}/integrations`,
        'Project created. Add an integration to receive alerts.',
      );
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      return sendProjects(frame, domain, reply, error);
    }
  });
  pages.get('/projects/:id', async (request, reply) => {
    const { membership } = await frame.visit(request, reply, 'Guest');
    const tab = membership.level >= PROJECT_ROLES.Developer ? 'alerts' : 'members';
    return seeOther(reply, `/projects/${membership.project.id}/${tab}`);
  });
  serveMembers(pages, frame, domain);
  serveSettings(pages, frame, domain);
}

async function sendProjects(
  frame: ProjectFrame,
  { projects, reader }: ProjectPageParts,
  reply: FastifyReply,
  error: RequestRefused | null,
): Promise<FastifyReply> {
  const { request } = reply;
  const { user, store } = await frame.signedIn(request, reply);
  const token = await reply.formToken();
  const found = await projects.ofUser(user);
  const isSeen = (level: number) => level >= PROJECT_ROLES.Developer;
  const seen = found.filter(({ level }) => isSeen(level)).map(({ project }) => Number(project.id));
  const open = await reader.withStore(store).countOpen(seen);
  const rows = found.map(({ project, level }) => {
    const count = open.get(Number(project.id)) ?? 0;
    return [
      html`<a href="/projects/${project.id}">${project.name}</a>`,
      html`${roleOf(level)}`,
      isSeen(level) ? html`<span class="tag ${count > 0 ? 'warn' : 'good'}">${count}</span>` : html`–`,
      html`<span class="tag">${project.plan}</span>`,
      time(project.created_ms),
    ];
  });
  const body = html`<h1>Projects</h1><p class="lead">A project receives the alerts of your monitoring tools and groups them.</p>
${table({ caption: 'Projects', head: ['Name', 'Your role', 'Open alerts', 'Plan', 'Created'], rows, empty: 'You are not a member of any project. Create one, or ask a Maintainer to add you.' })}
<section class="card"><h2>New project</h2><form method="post" action="/projects">${token}
${textField({ name: 'name', label: 'Name', value: formOf(request).text('name'), hint: 'For example, your team or the monitored system.', fault: error?.message })}
<button>Create project</button></form></section>`;
  return reply.page({
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

function serveMembers(pages: FastifyInstance, frame: ProjectFrame, { members }: ProjectPageParts): void {
  const path = '/projects/:id/members';
  const send = async (reply: FastifyReply, visit: Visit, fault: string | null) => {
    const { request } = reply;
    const { project, level } = visit.membership;
    const form = formOf(request);
    const mayChange = level >= PROJECT_ROLES.Maintainer;
    const found = await members.list(project.id);
    const base = `/projects/${project.id}/members`;
    const rows = found.map(({ user, level: memberLevel, since }) => [
      html`@${user.username} <span class="under">${user.name}</span>`,
      mayChange && memberLevel <= level
        ? html`<form class="inline" method="post" action="${base}/change">${visit.token}<input type="hidden" name="user" value="${user.id}">
<select name="level" aria-label="Role of ${user.username}">${LEVEL_OPTIONS.filter(([value]) => Number(value) <= level).map(([value, label]) => html`<option value="${value}"${Number(value) === memberLevel && html` selected`}>${label}</option>`)}</select><button class="second small">Update role</button></form>`
        : html`${roleOf(memberLevel)}`,
      time(since),
      (mayChange && memberLevel <= level) || user.id === visit.user.id
        ? html`<form method="post" action="${base}/remove">${visit.token}<input type="hidden" name="user" value="${user.id}"><button class="danger small">${user.id === visit.user.id ? 'Leave' : 'Remove'}</button></form>`
        : html``,
    ]);
    const body = html`<h1>Members</h1>
${table({ caption: 'Members', head: ['Account', 'Role', 'Member since', ''], rows, empty: '' })}
${
  mayChange &&
  html`<section class="card"><h2>Add member</h2><form method="post" action="${base}/add">${visit.token}
${textField({ name: 'user', label: 'Username', value: form.text('user'), hint: 'As shown in the profile of the user.', fault })}
<div class="picker">${select(
    'level',
    'Role',
    LEVEL_OPTIONS.filter(([value]) => Number(value) <= level),
    form.text('level') || '30',
  )}<button>Add member</button></div></form>
<dl class="facts"><dt>Guest</dt><dd>Can view the project and its members</dd><dt>Reporter</dt><dd>Can view incidents, analytics and who is on call</dd><dt>Developer</dt><dd>Can be on call, manage alerts, silence them and send test alerts</dd><dt>Maintainer</dt><dd>Can manage schedules, policies, routes, integrations, webhooks and members</dd><dt>Owner</dt><dd>Can change the plan and delete the project</dd></dl></section>`
}`;
    const status = fault === null ? 200 : 422;
    return frame.send(reply, visit, { tab: 'members', title: 'Members', body, status });
  };
  pages.get(path, async (request, reply) => send(reply, await frame.visit(request, reply, 'Guest'), null));
  for (const mode of ['add', 'change', 'remove'] as const) {
    pages.post(`${path}/${mode}`, async (request, reply) => {
      const visit = await frame.visit(request, reply, 'Guest');
      const form = formOf(request);
      const base = `/projects/${visit.membership.project.id}/members`;
      try {
        const named = form.text('user');
        const user =
          mode === 'add'
            ? await members.findNamed(visit.user, { username: named })
            : await members.userOf(visit.membership.project.id, named);
        if (mode !== 'remove' || user.id !== visit.user.id) requireRole(visit.membership, 'Maintainer');
        await members.setLevel(
          visit.membership,
          user,
          mode === 'remove' ? 0 : Number(form.text('level')),
          mode,
        );
        if (mode === 'remove' && user.id === visit.user.id)
          return seeOther(reply, '/projects', 'You left the project.');
        return seeOther(reply, base, MEMBER_MESSAGES[mode]);
      } catch (error) {
        if (!(error instanceof RequestRefused)) throw error;
        if (mode === 'add' && visit.membership.level >= PROJECT_ROLES.Maintainer)
          return send(reply, visit, error.status === 404 ? NO_USER : error.message);
        return seeOther(reply, base, error.message, 'bad');
      }
    });
  }
}

const NO_USER = 'No account has this username. Ask the person to sign up first.';

const MEMBER_MESSAGES = {
  add: 'Member added.',
  change: 'Role updated.',
  remove: 'Member removed.',
} as const;

function serveSettings(pages: FastifyInstance, frame: ProjectFrame, { projects }: ProjectPageParts): void {
  const path = '/projects/:id/settings';
  const send = async (reply: FastifyReply, visit: Visit, fault: string | null) => {
    const { request } = reply;
    const { level } = visit.membership;
    const project = { ...visit.membership.project, ...(fault !== null && changesIn(formOf(request))) };
    const isOwner = level >= PROJECT_ROLES.Owner;
    const base = `/projects/${project.id}/settings`;
    const check = (name: string, isOn: boolean, title: string, detail: string) =>
      html`<label class="choice"><input type="checkbox" name="${name}" value="on"${isOn && html` checked`}><div><b>${title}</b><span>${detail}</span></div></label>`;
    const body = html`<h1>Settings</h1><section class="card"><form method="post" action="${base}">${visit.token}
${textField({ name: 'name', label: 'Name', value: project.name, fault })}
<fieldset class="field"><legend>Incidents</legend>
${check('makes_incidents', project.makes_incidents, 'Create an incident for each new alert', 'The incident contains the description of the alert and the Markdown that the source adds.')}
${check('closes_incidents', project.closes_incidents, 'Close the incident when its alert is resolved', 'When a user closes an incident, its alert is always resolved.')}</fieldset>
${
  isOwner &&
  html`<div class="picker">${select(
    'plan',
    'Plan',
    [
      ['premium', 'Premium: unlimited HTTP endpoints, custom mapping, grouping by payload'],
      ['free', 'Free: one HTTP endpoint'],
    ],
    project.plan,
  )}</div>`
}
<button>Save changes</button></form></section>
${isOwner && html`<section class="card"><h2>Delete project</h2><p>The project stops receiving alerts immediately.</p><a class="button danger" href="${base}/delete" aria-label="Delete project ${visit.membership.project.name}">Delete project</a></section>`}`;
    const status = fault === null ? 200 : 422;
    return frame.send(reply, visit, { tab: 'settings', title: 'Settings', body, status });
  };
  pages.get(path, async (request, reply) =>
    send(reply, await frame.visit(request, reply, 'Maintainer'), null),
  );
  pages.post(path, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const { project } = visit.membership;
    const changes = changesIn(formOf(request));
    if (changes.plan !== undefined && changes.plan !== project.plan) requireRole(visit.membership, 'Owner');
    try {
      await projects.change(project.id, changes);
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.field !== 'name') throw error;
      return send(reply, visit, error.message);
    }
    return seeOther(reply, `/projects/${project.id}/settings`, 'Changes saved.');
  });
  serveDeletion(pages, frame, projects);
}

function changesIn(form: Form) {
  const plan = form.text('plan');
  return {
    name: form.text('name'),
    makes_incidents: form.has('makes_incidents'),
    closes_incidents: form.has('closes_incidents'),
    ...((plan === 'free' || plan === 'premium') && { plan }),
  };
}

const serveDeletion = (
  pages: FastifyInstance,
  frame: ProjectFrame,
  projects: ProjectPageParts['projects'],
): void =>
  serveConfirmationPage(pages, frame, {
    path: '/projects/:id/settings/delete',
    tab: 'settings',
    role: 'Owner',
    find: async (_request, { membership }) => membership.project,
    questionOf: ({ id, name, created_ms }) => ({
      question: `Delete the project ${name}?`,
      facts: [
        ['Project', name],
        ['Created', time(created_ms)],
      ],
      consequence:
        'All members lose the project with its alerts and incidents. Its integrations refuse alerts, and its webhooks send nothing more. This cannot be undone.',
      submit: 'Delete project',
      back: `/projects/${id}/settings`,
      name,
    }),
    execute: async ({ id, name }, _visit, reply) => {
      await projects.delete(id);
      return seeOther(reply, '/projects', `Project ${name} deleted.`);
    },
  });
