import { z } from 'zod';
import type { User } from '../../accounts/tables.ts';
import type { OncallSchedule } from '../model/oncall-tables.ts';
import type { PersonChange } from '../oncall/preview.ts';
import { type Revision, type Rotation, rotationFields, turnsOf } from '../oncall/rotations.ts';
import type { EditOptions, RotationEdit } from '../oncall/schedules.ts';
import { timeText, userJson, userShape } from '../projects/shapes.ts';
import type { Api, Call } from './endpoint.ts';
import { ONE_SCHEDULE, type ScheduleParts, scheduleParams, spanJson, timeInput } from './oncall-schedules.ts';

const revisionShape = {
  ...rotationFields,
  turns: turnsOf(z.int()),
  effective_at: z.iso.datetime().describe('start of this revision; earlier revisions define earlier shifts'),
  ends: z.boolean().describe('true: the rotation ends at `effective_at`'),
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
    rotation: shape.nullable().describe('null: the rotation has ended'),
    changes: z
      .array(
        z.object({
          user: userShape.nullable().describe('null: nobody, that is, a gap'),
          gains: z.array(span),
          loses: z.array(span),
        }),
      )
      .describe('on-call times in the next 8 weeks that differ from those before the edit, by user'),
  })
  .meta({ id: 'OncallRotationEdit' });

const fields = z.object({ ...rotationFields, turns: turnsOf(z.int()) }).partial();
const edit = z.object({
  dry_run: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .describe('true: returns the changes with status 200 and stores nothing'),
  effective_at: timeInput.optional().describe('when the edit takes effect; default: now'),
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

/** Serves the rotations of a schedule. An edit never changes shifts before its effective time. */
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
      doc: 'The first turn begins at `starts_at`, and each further turn one length later, in the local time of the schedule. The rotation has no shifts before it takes effect.',
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
      doc: 'Adds a revision. Revisions that take effect later stay unchanged.',
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
