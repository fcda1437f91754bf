import { z } from 'zod';
import type { User } from '../../accounts/tables.ts';
import type { OncallSchedule } from '../model/oncall-tables.ts';
import type { PersonChange } from '../oncall/preview.ts';
import { type Revision, type Rotation, rotationFields, turnsOf } from '../oncall/rotations.ts';
import type { EditOptions, RotationEdit } from '../oncall/schedules.ts';
import { timeText, userJson, userShape } from '../projects/shapes.ts';
import type { Api, Call } from './endpoint.ts';
import { givenTime, ONE_SCHEDULE, type ScheduleParts, scheduleParams, spanJson } from './oncall-schedules.ts';

const revisionShape = {
  ...rotationFields,
  turns: turnsOf(z.int()),
  effective_at: z.iso.datetime().describe('earlier shifts follow from earlier revisions'),
  ends: z.boolean().describe('whether the rotation ends then'),
  author_id: z.int(),
};
const shape = z
  .object({
    id: z.string(),
    ...revisionShape,
    upcoming: z.array(z.object(revisionShape)).describe('revisions that take effect later'),
  })
  .meta({ id: 'OncallRotation' });

const span = z.object({ from: z.iso.datetime(), until: z.iso.datetime() });
const editShape = z
  .object({
    rotation: shape.nullable().describe('null where it has ended'),
    changes: z
      .array(
        z.object({
          user: userShape.nullable().describe('null for nobody: gaps'),
          gains: z.array(span),
          loses: z.array(span),
        }),
      )
      .describe('who is on call at other times in the next 8 weeks than before the edit'),
  })
  .meta({ id: 'OncallRotationEdit' });

const fields = z.object({ ...rotationFields, turns: turnsOf(z.int()) }).partial();
const edit = z.object({
  dry_run: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .describe('only answers what would change; the status is 200'),
  effective_at: givenTime.optional().describe('when the edit takes effect; default: now'),
});

const tag = 'On call' as const;
const list = `${ONE_SCHEDULE}/rotations`;
const one = `${list}/:rotation_id`;
const params = scheduleParams.extend({ rotation_id: z.string() });

const changesOf = ({ turns, ...rest }: z.output<typeof fields>) => ({
  ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
  ...(turns === undefined ? {} : { turns: turns.map((users) => users.map(String)) }),
});

type RotationCall = Call<{ readonly schedule_id: string }, z.output<typeof edit>, unknown>;
const optionsOf = ({ caller, query }: RotationCall): EditOptions => ({
  author: caller.user.id,
  effective: query.effective_at === undefined ? null : Date.parse(query.effective_at),
  isDryRun: query.dry_run,
});

type ScheduleOf = (call: Pick<RotationCall, 'membership' | 'params'>) => Promise<OncallSchedule>;
type EditJson = (edit: RotationEdit) => Promise<unknown>;

/** Rotations of a schedule. An edit never changes earlier shifts. */
export function serveOncallRotations(api: Api, { schedules, users }: ScheduleParts): void {
  const scheduleOf: ScheduleOf = ({ membership, params }) =>
    schedules.get(membership.project.id, params.schedule_id);
  const json: EditJson = async ({ rotation, changes }) => ({
    rotation: rotation && rotationJson(rotation),
    changes: changesJson(changes, await users.byId(changes.map(({ user }) => user))),
  });
  api.add(
    {
      method: 'GET',
      path: list,
      tag,
      summary: 'List rotations',
      role: 'Reporter',
      params: scheduleParams,
      isWholeList: true,
      answer: z.array(shape),
    },
    async (call) => (await schedules.rotations(await scheduleOf(call))).map(rotationJson),
  );
  api.add(
    {
      method: 'POST',
      path: list,
      tag,
      summary: 'Create a rotation',
      doc: 'Turn k begins k lengths after `starts_at` on the wall clock of the zone. It has no shifts before it takes effect.',
      role: 'Maintainer',
      params: scheduleParams,
      query: edit,
      body: fields.required({ name: true, starts_at: true, turns: true }),
      answer: editShape,
      status: 201,
    },
    async (call) =>
      json(await schedules.createRotation(await scheduleOf(call), changesOf(call.body), optionsOf(call))),
  );
  api.add(
    { method: 'GET', path: one, tag, summary: 'Get a rotation', role: 'Reporter', params, answer: shape },
    async (call) => rotationJson(await schedules.rotation(await scheduleOf(call), call.params.rotation_id)),
  );
  serveRotationEdits(api, schedules, scheduleOf, json);
}

function serveRotationEdits(
  api: Api,
  schedules: ScheduleParts['schedules'],
  scheduleOf: ScheduleOf,
  json: EditJson,
): void {
  api.add(
    {
      method: 'PUT',
      path: one,
      tag,
      summary: 'Update a rotation',
      doc: 'Revisions that take effect later than this one stay.',
      role: 'Maintainer',
      params,
      query: edit,
      body: fields,
      answer: editShape,
    },
    async (call) =>
      json(
        await schedules.changeRotation(
          await scheduleOf(call),
          call.params.rotation_id,
          changesOf(call.body),
          optionsOf(call),
        ),
      ),
  );
  api.add(
    {
      method: 'DELETE',
      path: one,
      tag,
      summary: 'End a rotation',
      role: 'Maintainer',
      params,
      query: edit,
      answer: editShape,
    },
    async (call) =>
      json(await schedules.deleteRotation(await scheduleOf(call), call.params.rotation_id, optionsOf(call))),
  );
}

const revisionJson = ({ effective_ms, ends_rotation, author_id, turns, ...rest }: Revision) => ({
  name: rest.name,
  priority: rest.priority,
  starts_at: rest.starts_at,
  ends_at: rest.ends_at,
  length: rest.length,
  unit: rest.unit,
  active_times: rest.active_times,
  turns: turns.map((users) => users.map(Number)),
  effective_at: timeText(effective_ms),
  ends: ends_rotation,
  author_id: Number(author_id),
});

const rotationJson = (rotation: Rotation) => ({
  id: rotation.id,
  ...revisionJson(rotation),
  upcoming: rotation.upcoming.map(revisionJson),
});

const changesJson = (changes: readonly PersonChange[], users: ReadonlyMap<string, User>) =>
  changes.map(({ user: id, gains, loses }) => {
    const user = users.get(id);
    return { user: user ? userJson(user) : null, gains: gains.map(spanJson), loses: loses.map(spanJson) };
  });
