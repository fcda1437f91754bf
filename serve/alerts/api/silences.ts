import { z } from 'zod';
import type { Clock } from '../../../infra/ports.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { requireSelectiveList } from '../model/entered-matchers.ts';
import { timeText, wellFormedText } from '../projects/shapes.ts';
import { SILENCE_STATES, type Silence, silenceState } from '../suppression/silence.ts';
import { commaSeparated } from './alerts.ts';
import type { Api } from './endpoint.ts';
import { matchersInput, matchersJson, matchersOf } from './matchers.ts';
import { timeInput } from './oncall-schedules.ts';
import { PAGINATION_DOC, pageQuery, setPageHeaders } from './pagination.ts';

const shape = z
  .object({
    id: z.string(),
    matchers: matchersInput.describe('an alert must match all of them'),
    state: z.enum(SILENCE_STATES),
    starts_at: z.iso.datetime(),
    ends_at: z.iso.datetime(),
    comment: z.string(),
    created_by: z.string().describe('name that the creator entered'),
    author_id: z.int().describe('id of the user who changed it last'),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Silence' });

const body = z.object({
  matchers: matchersInput.describe(
    'matchers in the syntax of Alertmanager, such as `severity="low"` and `host=~"web-.*"`; an alert must match all of them',
  ),
  starts_at: timeInput.optional().describe('default: now; an earlier time means now'),
  ends_at: timeInput,
  comment: wellFormedText().optional(),
  created_by: wellFormedText().optional().describe('default: the username of the caller'),
});

const tag = 'On call' as const;
const all = '/projects/:id/silences';
const one = `${all}/:silence_id`;
const params = z.object({ silence_id: z.string() });

const selectiveMatchers = (texts: z.output<typeof matchersInput>) =>
  requireSelectiveList(matchersOf(texts, 'matchers'), 'matchers');

export function serveSilences(
  api: Api,
  { silences }: Pick<AlertDomain, 'silences'>,
  { clock, url }: { readonly clock: Clock; readonly url: () => string },
): void {
  const json = (silence: Silence) => silenceJson(silence, clock.now());
  api.add(
    {
      method: 'GET',
      path: all,
      tag,
      summary: 'List silences',
      doc: `Active silences come first, by end; then pending silences, by start; then expired silences, newest first. ${PAGINATION_DOC}`,
      role: 'Reporter',
      query: z.object({
        state: commaSeparated(SILENCE_STATES).describe('one or more, separated by commas; default: all'),
        ...pageQuery,
      }),
      answer: z.array(shape),
    },
    async ({ membership, query, request, reply }) => {
      const { state = SILENCE_STATES, page: number, per_page: size } = query;
      const listed = await silences.list(membership.project.id, state, { number, size });
      setPageHeaders(reply, `${url()}${request.url}`, { number, size, total: listed.total });
      return listed.silences.map(json);
    },
  );
  api.add(
    {
      method: 'POST',
      path: all,
      tag,
      summary: 'Create a silence',
      doc: 'While the silence is active, alerts that match it are recorded and listed as usual, but page nobody.',
      role: 'Developer',
      body,
      answer: shape,
      status: 201,
    },
    async ({ caller: { user }, membership, body }) =>
      json(
        await silences.create(membership.project.id, user.id, {
          matchers: selectiveMatchers(body.matchers),
          starts_ms: body.starts_at === undefined ? clock.now() : Date.parse(body.starts_at),
          ends_ms: Date.parse(body.ends_at),
          comment: body.comment ?? '',
          created_by: body.created_by ?? user.username,
          annotations: {},
        }),
      ),
  );
  api.add(
    { method: 'GET', path: one, tag, summary: 'Get a silence', role: 'Reporter', params, answer: shape },
    async ({ membership, params }) => json(await silences.get(membership.project.id, params.silence_id)),
  );
  serveSilenceChanges(api, silences, json);
}

function serveSilenceChanges(
  api: Api,
  silences: AlertDomain['silences'],
  json: (silence: Silence) => z.output<typeof shape>,
): void {
  api.add(
    {
      method: 'PUT',
      path: one,
      tag,
      summary: 'Update a silence',
      doc: 'To change the matchers or the start of an active silence, or anything of an expired one, the server ends this silence and creates a new one. The response has the new id.',
      role: 'Developer',
      params,
      body: body.partial(),
      answer: shape,
    },
    async ({ caller, membership, params, body }) => {
      const before = await silences.get(membership.project.id, params.silence_id);
      const { matchers, starts_at, ends_at, comment, created_by } = body;
      return json(
        await silences.change(membership.project.id, before.id, caller.user.id, {
          ...before,
          ...(matchers === undefined ? {} : { matchers: selectiveMatchers(matchers) }),
          ...(starts_at === undefined ? {} : { starts_ms: Date.parse(starts_at) }),
          ...(ends_at === undefined ? {} : { ends_ms: Date.parse(ends_at) }),
          ...(comment === undefined ? {} : { comment }),
          ...(created_by === undefined ? {} : { created_by }),
        }),
      );
    },
  );
  api.add(
    {
      method: 'DELETE',
      path: one,
      tag,
      summary: 'End a silence',
      doc: 'Alerts that are still triggered page at once, unless another silence or maintenance window matches. The silence stays in the list as expired.',
      role: 'Developer',
      params,
      status: 204,
    },
    async ({ caller, membership, params }) =>
      silences.end(membership.project.id, params.silence_id, caller.user.id),
  );
}

const silenceJson = (silence: Silence, now: number): z.output<typeof shape> => ({
  id: silence.id,
  matchers: [...matchersJson(silence.matchers)],
  state: silenceState(silence, now),
  starts_at: timeText(silence.starts_ms) ?? '',
  ends_at: timeText(silence.ends_ms) ?? '',
  comment: silence.comment,
  created_by: silence.created_by,
  author_id: Number(silence.author_id),
  created_at: timeText(silence.created_ms) ?? '',
  updated_at: timeText(silence.updated_ms) ?? '',
});
