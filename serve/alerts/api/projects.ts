import { z } from 'zod';
import { wholeNumber } from '../../../aggregate/metrics/shared/filters.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { PROJECT_ROLES, RequestRefused, requireRole } from '../model/access.ts';
import { memberJson, memberShape, projectJson, projectShape, wellFormedText } from '../projects/shapes.ts';
import type { Api } from './endpoint.ts';

const levels = Object.entries(PROJECT_ROLES).map(([role, level]) => `${level} ${role}`);
const accessLevel = z.int().describe(levels.join(', '));

const changes = {
  name: wellFormedText().max(255),
  description: wellFormedText().max(2000).optional(),
  plan: z.enum(['free', 'premium']).optional(),
  creates_incidents: z.boolean().optional().describe('whether each new alert creates an incident'),
  closes_incidents: z
    .boolean()
    .optional()
    .describe('whether an incident is closed when its alert is resolved'),
};

const changesOf = ({ creates_incidents, closes_incidents, ...rest }: Record<string, unknown>) => ({
  ...rest,
  ...(creates_incidents === undefined ? {} : { makes_incidents: creates_incidents as boolean }),
  ...(closes_incidents === undefined ? {} : { closes_incidents: closes_incidents as boolean }),
});

type ProjectParts = Pick<AlertDomain, 'projects' | 'members'>;

export function serveProjects(api: Api, domain: ProjectParts, url: () => string): void {
  const { projects } = domain;
  const tag = 'Projects' as const;
  api.add(
    {
      method: 'GET',
      path: '/projects',
      tag,
      summary: 'List projects of the caller',
      role: null,
      isWholeList: true,
      answer: z.array(projectShape),
    },
    async ({ caller }) =>
      (await projects.ofUser(caller.user)).map((membership) => projectJson(membership, url())),
  );
  api.add(
    {
      method: 'POST',
      path: '/projects',
      tag,
      summary: 'Create a project',
      role: null,
      body: z.object(changes),
      answer: projectShape,
      status: 201,
    },
    async ({ caller, body }) => {
      const project = await projects.create(caller.user, changesOf(body));
      return projectJson({ project, level: PROJECT_ROLES.Owner }, url());
    },
  );
  api.add(
    {
      method: 'GET',
      path: '/projects/:id',
      tag,
      summary: 'Get a project',
      role: 'Guest',
      answer: projectShape,
    },
    async ({ membership }) => projectJson(membership, url()),
  );
  api.add(
    {
      method: 'PUT',
      path: '/projects/:id',
      tag,
      summary: 'Update a project',
      doc: 'Only an Owner can change the plan.',
      role: 'Maintainer',
      body: z.object({ ...changes, name: changes.name.optional() }),
      answer: projectShape,
    },
    async ({ membership, body }) => {
      const { level, project } = membership;
      if (body.plan !== undefined && body.plan !== project.plan) requireRole(membership, 'Owner');
      return projectJson({ project: await projects.change(project.id, changesOf(body)), level }, url());
    },
  );
  api.add(
    { method: 'DELETE', path: '/projects/:id', tag, summary: 'Delete a project', role: 'Owner', status: 204 },
    async ({ membership }) => projects.delete(membership.project.id),
  );
  serveMembers(api, domain);
}

function serveMembers(api: Api, domain: ProjectParts): void {
  const { members } = domain;
  const tag = 'Projects' as const;
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/members',
      tag,
      summary: 'List members of a project',
      role: 'Guest',
      isWholeList: true,
      answer: z.array(memberShape),
    },
    async ({ membership }) => (await members.list(membership.project.id)).map(memberJson),
  );
  api.add(
    {
      method: 'POST',
      path: '/projects/:id/members',
      tag,
      summary: 'Add a member',
      doc: 'A member cannot grant a role above their own.',
      role: 'Maintainer',
      body: z.object({
        user_id: z.int().optional().describe('id of a user with whom the caller shares a project'),
        username: wellFormedText().max(255).optional().describe('the exact username'),
        access_level: accessLevel,
      }),
      answer: memberShape,
      status: 201,
    },
    async ({ caller, membership, body }) => {
      if (body.user_id === undefined && body.username === undefined)
        throw new RequestRefused('bad_request', 'Give the user_id or the username of the user.', 'user_id');
      const user = await members.findNamed(caller.user, { id: body.user_id, username: body.username });
      const member = await members.setLevel(membership, user, body.access_level, 'add');
      return memberJson({ user, level: member.access_level, since: member.created_ms });
    },
  );
  serveMember(api, domain);
}

function serveMember(api: Api, { members }: ProjectParts): void {
  const tag = 'Projects' as const;
  const params = z.object({ user_id: wholeNumber(1) });
  api.add(
    {
      method: 'PUT',
      path: '/projects/:id/members/:user_id',
      tag,
      summary: 'Update the role of a member',
      role: 'Maintainer',
      params,
      body: z.object({ access_level: accessLevel }),
      answer: memberShape,
    },
    async ({ membership, params, body }) => {
      const user = await members.userOf(membership.project.id, String(params.user_id));
      const { access_level, created_ms } = await members.setLevel(
        membership,
        user,
        body.access_level,
        'change',
      );
      return memberJson({ user, level: access_level, since: created_ms });
    },
  );
  api.add(
    {
      method: 'DELETE',
      path: '/projects/:id/members/:user_id',
      tag,
      summary: 'Remove a member',
      doc: 'Members can remove themselves. Removing others requires the Maintainer role.',
      role: 'Guest',
      params,
      status: 204,
    },
    async ({ caller, membership, params }) => {
      const user = await members.userOf(membership.project.id, String(params.user_id));
      if (user.id !== caller.user.id) requireRole(membership, 'Maintainer');
      await members.setLevel(membership, user, 0, 'remove');
    },
  );
}
