import { HttpError } from '../../http/errors.ts';
import type { Project } from './tables.ts';

/** Roles in a project and their access levels. A level includes the permissions of all lower ones. */
export const PROJECT_ROLES = {
  Guest: 10,
  Reporter: 20,
  Developer: 30,
  Maintainer: 40,
  Owner: 50,
} as const;
export type ProjectRole = keyof typeof PROJECT_ROLES;

export const ACCESS_LEVELS: readonly number[] = Object.values(PROJECT_ROLES);

export function roleOf(level: number): ProjectRole {
  const [role] = Object.entries(PROJECT_ROLES).find(([, of]) => of === level) ?? ['Guest'];
  return role as ProjectRole;
}

/** Refuses a request. Names the invalid field, if there is one. */
export class RequestRefused extends HttpError {
  readonly field: string | null;
  constructor(
    code: 'bad_request' | 'forbidden' | 'not_found' | 'conflict' | 'too_many_requests',
    publicText: string,
    field: string | null = null,
  ) {
    super(code, publicText, {}, undefined, field === null ? undefined : { [field]: [publicText] });
    this.field = field;
  }
}

/** A project and the access level that a user has in it. */
export interface Membership {
  readonly project: Project;
  readonly level: number;
}

export function requireRole({ level }: Membership, role: ProjectRole): void {
  if (level < PROJECT_ROLES[role])
    throw new RequestRefused('forbidden', `This requires the ${role} role in the project.`);
}
