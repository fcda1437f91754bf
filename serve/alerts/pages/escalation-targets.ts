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
  { channels, members, schedules }: Pick<AlertDomain, 'channels' | 'members' | 'schedules'>,
  projectId: string,
): Promise<readonly TargetGroup[]> {
  const [people, schedulesOf, channelsOf] = await Promise.all([
    members.list(projectId),
    schedules.list(projectId),
    channels.list(projectId),
  ]);
  const mayBePaged = people.filter(({ level }) => level >= PROJECT_ROLES.Developer);
  return [
    group('Schedules', 'schedule', schedulesOf),
    group(
      'People',
      'user',
      mayBePaged.map(({ user: { id, username } }) => ({ id, name: `@${username}` })),
    ),
    group('Channels', 'channel', channelsOf),
  ];
}

const group = (
  label: string,
  type: PolicyTarget['type'],
  rows: readonly { readonly id: string; readonly name: string }[],
): TargetGroup => ({
  label,
  options: rows.map(({ id, name }) => ({ key: keyOfTarget({ type, id }), name })),
});

/** The names of targets by their keys. */
export const targetNames = (groups: readonly TargetGroup[]): ReadonlyMap<string, string> =>
  new Map(groups.flatMap(({ options }) => options.map(({ key, name }) => [key, name] as const)));
