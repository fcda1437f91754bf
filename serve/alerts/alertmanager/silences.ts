import { z } from 'zod';
import type { Clock } from '../../../infra/ports.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { requireSelectiveList } from '../model/entered-matchers.ts';
import { wellFormedText } from '../projects/shapes.ts';
import { SILENCE_STATES, type Silence, silenceState } from '../suppression/silence.ts';
import { filtersOf, isSameMatcher } from './filters.ts';
import { jsonArray } from './json-stream.ts';
import { type AlertmanagerScope, flag, texts } from './scope.ts';

const moment = z.iso.datetime({ offset: true });

const silenceBody = z.object({
  id: z.string().nullish(),
  matchers: z
    .array(
      z.object({
        name: wellFormedText(),
        value: wellFormedText(),
        isRegex: z.boolean(),
        isEqual: z
          .boolean()
          .nullish()
          .transform((isEqual) => isEqual ?? true),
      }),
    )
    .min(1),
  startsAt: moment,
  endsAt: moment,
  createdBy: wellFormedText(),
  comment: wellFormedText(),
  annotations: z.record(wellFormedText(), wellFormedText()).nullish(),
});

const PATH = '/silence/:id';

/** The silences of a project in the format of Alertmanager's API. */
export function serveAlertmanagerSilences(
  scope: AlertmanagerScope,
  { silences }: Pick<AlertDomain, 'silences'>,
  clock: Clock,
): void {
  scope.add(
    {
      method: 'GET',
      path: '/silences',
      role: 'Reporter',
      query: z.object({ filter: texts, active: flag, pending: flag, expired: flag }),
    },
    async ({ projectId, query }) => {
      const filters = filtersOf(query.filter);
      const states = SILENCE_STATES.filter((state) => query[state]);
      const matching = async function* () {
        for await (const part of silences.inParts(projectId, states)) {
          yield part
            .filter(({ matchers }) =>
              filters.every((filter) => matchers.some((one) => isSameMatcher(one, filter))),
            )
            .map((silence) => silenceJson(silence, clock.now()));
        }
      };
      return jsonArray(matching());
    },
  );
  scope.add(
    { method: 'POST', path: '/silences', role: 'Developer', body: silenceBody },
    async ({ projectId, caller: { user }, body }) => {
      const fields = {
        matchers: requireSelectiveList(body.matchers, 'matchers'),
        starts_ms: Date.parse(body.startsAt),
        ends_ms: Date.parse(body.endsAt),
        created_by: body.createdBy,
        comment: body.comment,
        annotations: body.annotations ?? {},
      };
      const { id } = body.id
        ? await silences.change(projectId, body.id, user.id, fields)
        : await silences.create(projectId, user.id, fields);
      return { silenceID: id };
    },
  );
  scope.add({ method: 'GET', path: PATH, role: 'Reporter' }, async ({ projectId, params }) =>
    silenceJson(await silences.get(projectId, params.id ?? ''), clock.now()),
  );
  scope.add({ method: 'DELETE', path: PATH, role: 'Developer' }, async (call) => {
    await silences.end(call.projectId, call.params.id ?? '', call.caller.user.id);
  });
}

function silenceJson(silence: Silence, now: number) {
  const time = (ms: number) => new Date(ms).toISOString();
  return {
    id: silence.id,
    status: { state: silenceState(silence, now) },
    updatedAt: time(silence.updated_ms),
    comment: silence.comment,
    createdBy: silence.created_by,
    startsAt: time(silence.starts_ms),
    endsAt: time(silence.ends_ms),
    matchers: silence.matchers,
    ...(Object.keys(silence.annotations).length === 0 ? {} : { annotations: silence.annotations }),
  };
}
