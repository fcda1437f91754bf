import { PROJECT_ROLES } from '../model/access.ts';
import type { Members } from '../projects/members.ts';
import type { UserLookup } from '../projects/users.ts';

export interface PeopleDependencies {
  readonly members: Pick<Members, 'levelOf'>;
  readonly users: Pick<UserLookup, 'byId'>;
}

/** True for users who may receive pages of a project and act on them. */
export async function canBePaged(
  { members, users }: PeopleDependencies,
  projectId: string,
  userId: string,
): Promise<boolean> {
  const [level, found] = await Promise.all([members.levelOf(projectId, userId), users.byId([userId])]);
  return level >= PROJECT_ROLES.Developer && found.get(userId)?.locked_ms === 0;
}
