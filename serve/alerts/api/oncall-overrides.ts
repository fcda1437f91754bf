import { z } from 'zod';
import type { OncallOverride } from '../model/oncall-tables.ts';
import { timeText, wellFormedText } from '../projects/shapes.ts';
import type { Api, Call } from './endpoint.ts';
import { ONE_SCHEDULE, type ScheduleParts, scheduleParams, timeInput } from './oncall-schedules.ts';

const shape = z
  .object({
    id: z.string(),
    from: z.iso.datetime(),
    until: z.iso.datetime(),
    user_id: z.int().nullable().describe('user who is on call; null: nobody'),
    replaces_id: z.int().nullable().describe('user who is replaced; null: everybody'),
    reason: z.string(),
    author_id: z.int(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'OncallOverride' });

const body = z.object({
  from: timeInput.optional().describe('default: now; an earlier time means now'),
  until: timeInput,
  user_id: z.int().nullable().describe('user who is on call; null: nobody'),
  replaces_id: z.int().nullable().default(null).describe('user who is replaced; null: everybody'),
  reason: wellFormedText().max(1000).default(''),
});

const tag = 'On call' as const;
const list = `${ONE_SCHEDULE}/overrides`;
const one = `${list}/:override_id`;
const params = scheduleParams.extend({ override_id: z.string() });

/** Serves overrides. They cannot be updated, because they apply in the order of their creation. */
export function serveOncallOverrides(api: Api, { schedules }: Pick<ScheduleParts, 'schedules'>): void {
  const { overrides } = schedules;
  const scheduleOf = ({ membership, params }: OverrideCall) =>
    schedules.get(membership.project.id, params.schedule_id);
  const authorOf = ({ caller, membership }: OverrideCall) => ({
    id: caller.user.id,
    level: membership.level,
  });
  const doc =
    'A Developer can take a shift or give their own to another user; a Maintainer can replace anybody.';
  api.add(
    {
      method: 'GET',
      path: list,
      tag,
      summary: 'List overrides',
      doc: 'Returns the overrides that have not ended, by time.',
      role: 'Reporter',
      params: scheduleParams,
      isWholeList: true,
      answer: z.array(shape),
    },
    async (call) => (await overrides.list((await scheduleOf(call)).id)).map(overrideJson),
  );
  api.add(
    {
      method: 'POST',
      path: list,
      tag,
      summary: 'Create an override',
      doc: `Overrides apply in the order of their creation. ${doc}`,
      role: 'Developer',
      params: scheduleParams,
      body,
      answer: shape,
      status: 201,
    },
    async (call) => {
      const { from, until, user_id, replaces_id, reason } = call.body;
      const given = {
        from_ms: from === undefined ? 0 : Date.parse(from),
        until_ms: Date.parse(until),
        user_id: idText(user_id),
        replaces_id: idText(replaces_id),
        reason,
      };
      return overrideJson(await overrides.create(await scheduleOf(call), given, authorOf(call)));
    },
  );
  api.add(
    { method: 'GET', path: one, tag, summary: 'Get an override', role: 'Reporter', params, answer: shape },
    async (call) => overrideJson(await overrides.get((await scheduleOf(call)).id, call.params.override_id)),
  );
  api.add(
    {
      method: 'DELETE',
      path: one,
      tag,
      summary: 'Delete an override',
      doc,
      role: 'Developer',
      params,
      status: 204,
    },
    async (call) => overrides.delete((await scheduleOf(call)).id, call.params.override_id, authorOf(call)),
  );
}

type OverrideCall = Pick<
  Call<{ readonly schedule_id: string }, unknown, unknown>,
  'caller' | 'membership' | 'params'
>;

const idText = (id: number | null): string => (id === null ? '' : String(id));
const idNumber = (id: string): number | null => (id === '' ? null : Number(id));

const overrideJson = (override: OncallOverride) => ({
  id: override.id,
  from: timeText(override.from_ms),
  until: timeText(override.until_ms),
  user_id: idNumber(override.user_id),
  replaces_id: idNumber(override.replaces_id),
  reason: override.reason,
  author_id: Number(override.author_id),
  created_at: timeText(override.created_ms),
});
