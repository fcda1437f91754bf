import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import type { Members } from '../projects/members.ts';

/** The users who can be on call in a project: at least Developer, and not locked. */
export class OnCallMembers {
  readonly #members: Pick<Members, 'list' | 'levelOf'>;

  constructor(members: Pick<Members, 'list' | 'levelOf'>) {
    this.#members = members;
  }

  async available(projectId: string): Promise<ReadonlySet<string>> {
    const members = await this.#members.list(projectId);
    const eligible = members.filter(
      ({ user, level }) => level >= PROJECT_ROLES.Developer && user.locked_ms === 0,
    );
    return new Set(eligible.map(({ user }) => user.id));
  }

  async requireAvailable(projectId: string, users: readonly string[], field: string): Promise<void> {
    const available = await this.available(projectId);
    const ineligible = users.filter((user) => !available.has(user));
    if (ineligible.length > 0) {
      throw new RequestRefused(
        'bad_request',
        `These users cannot be on call: ${[...new Set(ineligible)].join(', ')}. Give them the Developer role in the project first.`,
        field,
      );
    }
  }

  async requireMember(projectId: string, user: string, field: string): Promise<void> {
    if ((await this.#members.levelOf(projectId, user)) === 0)
      throw new RequestRefused('bad_request', 'Enter a member of the project.', field);
  }
}
