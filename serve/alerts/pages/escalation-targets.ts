import type { AlertDomain } from '../composition/domain.ts';
import { PROJECT_ROLES } from '../model/access.ts';
import { type PolicyTarget, TARGET_TYPES } from '../oncall/policies.ts';

/** Targets of one type that a policy of the project can have. */
export interface TargetGroup {
  readonly label: string;
  readonly options: readonly { readonly key: string; readonly name: string }[];
}

/** The value of a target in a form. */
export const keyOfTarget = ({ type, id }: PolicyTarget): string => `${type}:${id}`;

/** Null for a value that no form offers. */
export function targetOf(key: string): PolicyTarget | null {
  const [name, id = ''] = key.split(':', 2);
  const type = TARGET_TYPES.find((type) => type === name);
  return type === undefined ? null : { type, id };
}

export async function targetGroups(
  { members }: Pick<AlertDomain, 'members'>,
  projectId: string,
): Promise<readonly TargetGroup[]> {
  const people = (await members.list(projectId)).filter(({ level }) => level >= PROJECT_ROLES.Developer);
  return [
    {
      label: 'People',
      options: people.map(({ user: { id, username } }) => ({
        key: keyOfTarget({ type: 'user', id }),
        name: `@${username}`,
      })),
    },
  ];
}

/** The names of targets by their keys. */
export const targetNames = (groups: readonly TargetGroup[]): ReadonlyMap<string, string> =>
  new Map(groups.flatMap(({ options }) => options.map(({ key, name }) => [key, name] as const)));
