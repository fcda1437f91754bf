import { z } from 'zod';
import type { AlertDomain } from '../composition/domain.ts';
import { INTERVALS_MAX, locatedIntervalSchema } from '../oncall/time-intervals.ts';
import { timeText, wellFormedText } from '../projects/shapes.ts';
import {
  type MaintenanceWindow,
  WINDOW_COMMENT_CHARACTERS_MAX,
  type WindowFields,
} from '../suppression/windows.ts';
import type { Api } from './endpoint.ts';
import { matchersInput, matchersJson, matchersOf } from './matchers.ts';
import { timeInput } from './oncall-schedules.ts';

const intervals = z.array(locatedIntervalSchema).max(INTERVALS_MAX);

const shape = z
  .object({
    id: z.string(),
    name: z.string(),
    matchers: matchersInput.describe('an alert must match all of them'),
    time_intervals: intervals.describe("Alertmanager's time intervals; the window is active in each of them"),
    from: z.iso.datetime().nullable(),
    until: z.iso.datetime().nullable(),
    comment: z.string(),
    active: z.boolean(),
    author_id: z.int(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'MaintenanceWindow' });

const fields = {
  name: wellFormedText().max(255),
  matchers: matchersInput.describe('an alert must match all of them'),
  time_intervals: intervals.describe('the window is active in each of them; empty: always'),
  from: timeInput.nullable().describe('start; null: no bound'),
  until: timeInput.nullable().describe('end, exclusive; null: no bound'),
  comment: wellFormedText().max(WINDOW_COMMENT_CHARACTERS_MAX),
  active: z.boolean(),
};

const newWindow = z.strictObject({
  ...fields,
  time_intervals: fields.time_intervals.default([]),
  from: fields.from.default(null),
  until: fields.until.default(null),
  comment: fields.comment.default(''),
  active: fields.active.default(true),
});
const windowChanges = z.strictObject(fields).partial();

const windowJson = (window: MaintenanceWindow) => ({
  id: window.id,
  name: window.name,
  matchers: matchersJson(window.matchers),
  time_intervals: window.time_intervals,
  from: timeText(window.from_ms),
  until: timeText(window.until_ms),
  comment: window.comment,
  active: window.is_active,
  author_id: Number(window.author_id),
  created_at: timeText(window.created_ms),
});

/** 0 for null, else never 0, because 0 means no bound. */
const momentOf = (text: string | null): number => (text === null ? 0 : Math.max(1, Date.parse(text)));

/** Converts the fields of a request to columns. */
function fieldsOf({
  matchers,
  from,
  until,
  active,
  ...rest
}: z.output<typeof windowChanges>): Partial<WindowFields> {
  const given = Object.entries(rest).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(given) as Partial<WindowFields>),
    ...(active !== undefined && { is_active: active }),
    ...(matchers !== undefined && { matchers: matchersOf(matchers, 'matchers') }),
    ...(from !== undefined && { from_ms: momentOf(from) }),
    ...(until !== undefined && { until_ms: momentOf(until) }),
  };
}

const tag = 'On call' as const;
const all = '/projects/:id/maintenance_windows';
const one = `${all}/:window_id`;
const params = z.object({ window_id: z.string() });

type WindowParts = Pick<AlertDomain, 'windows'>;

/** Serves maintenance windows. While one is active, alerts that match it page nobody. */
export function serveMaintenanceWindows(api: Api, domain: WindowParts): void {
  serveWindows(api, domain);
  serveWindow(api, domain);
}

function serveWindows(api: Api, { windows }: WindowParts): void {
  api.add(
    {
      method: 'GET',
      path: all,
      tag,
      summary: 'List maintenance windows of a project',
      role: 'Reporter',
      isWholeList: true,
      answer: z.array(shape),
    },
    async ({ membership }) => (await windows.list(membership.project.id)).map(windowJson),
  );
  api.add(
    {
      method: 'POST',
      path: all,
      tag,
      summary: 'Create a maintenance window',
      doc: 'A window is active between `from` and `until`, during each of its time intervals. Alerts that match it are recorded and listed as usual, but page nobody. An alert that is still triggered when the window ends pages at once. If a daylight saving change skips or repeats a start or end, the first instant at or after it counts.',
      role: 'Maintainer',
      body: newWindow,
      answer: shape,
      status: 201,
    },
    async ({ membership, caller, body }) =>
      windowJson(await windows.create(membership.project.id, caller.user.id, fieldsOf(body) as WindowFields)),
  );
}

function serveWindow(api: Api, { windows }: WindowParts): void {
  api.add(
    {
      method: 'GET',
      path: one,
      tag,
      summary: 'Get a maintenance window',
      role: 'Reporter',
      params,
      answer: shape,
    },
    async ({ membership, params }) => windowJson(await windows.get(membership.project.id, params.window_id)),
  );
  api.add(
    {
      method: 'PUT',
      path: one,
      tag,
      summary: 'Update a maintenance window',
      role: 'Maintainer',
      params,
      body: windowChanges,
      answer: shape,
    },
    async ({ membership, caller, params, body }) =>
      windowJson(
        await windows.change(membership.project.id, params.window_id, caller.user.id, fieldsOf(body)),
      ),
  );
  api.add(
    {
      method: 'DELETE',
      path: one,
      tag,
      summary: 'Delete a maintenance window',
      role: 'Maintainer',
      params,
      status: 204,
    },
    async ({ membership, caller, params }) =>
      windows.delete(membership.project.id, params.window_id, caller.user.id),
  );
}
