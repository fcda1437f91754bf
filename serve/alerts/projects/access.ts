import { HttpError } from '../../http/errors.ts';
import type { User } from '../../identity/accounts/tables.ts';
import type { AlertServices } from '../services.ts';
import type { Project } from './tables.ts';

/** Roles in a project and their levels: whoever has a level may do everything that a lower one may. */
export const PROJECT_ROLES = {
  Guest: 10,
  Reporter: 20,
  Developer: 30,
  Maintainer: 40,
  Owner: 50,
} as const;
export type ProjectRole = keyof typeof PROJECT_ROLES;

export const LEVELS: readonly number[] = Object.values(PROJECT_ROLES);

export function roleOf(level: number): ProjectRole {
  const [role] = Object.entries(PROJECT_ROLES).find(([, of]) => of === level) ?? ['Guest'];
  return role as ProjectRole;
}

/** Something that is not done, with the field that is at fault, if one is. */
export class RequestRefused extends HttpError {
  readonly field: string | null;
  constructor(
    code: 'bad_request' | 'forbidden' | 'not_found' | 'conflict',
    publicText: string,
    field: string | null = null,
  ) {
    super(code, publicText, {}, undefined, field === null ? undefined : { [field]: [publicText] });
    this.field = field;
  }
}

/** A project as one of its members sees it. */
export interface Membership {
  readonly project: Project;
  readonly level: number;
}

/** The project, for a member of it; to everybody else it is not there. */
export async function membershipOf(
  services: AlertServices,
  projectId: string,
  user: User,
): Promise<Membership> {
  const isId = /^[1-9]\d{0,14}$/.test(projectId);
  const [project, member] = isId
    ? await Promise.all([services.projects.get(projectId), services.members.get(`${projectId}/${user.id}`)])
    : [null, null];
  const level = member?.access_level ?? 0;
  if (project === null || project.deleted_ms > 0 || level === 0) {
    throw new RequestRefused('not_found', 'Project Not Found');
  }
  return { project, level };
}

export function requireRole({ level }: Membership, role: ProjectRole): void {
  if (level < PROJECT_ROLES[role])
    throw new RequestRefused('forbidden', `This needs the role ${role} in the project.`);
}
