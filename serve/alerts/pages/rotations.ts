import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { table, textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { RequestRefused } from '../model/access.ts';
import type { OncallSchedule } from '../model/oncall-tables.ts';
import type { PersonChange } from '../oncall/preview.ts';
import type { RotationFields } from '../oncall/rotations.ts';
import type { EditOptions, RotationEdit } from '../oncall/schedules.ts';
import type { Visit } from './frame.ts';
import { newRotation, rotationFields, rotationIn } from './rotation-form.ts';
import { candidatesOf, lookAhead, nameIn, type OnCallPageParts, schedulePath } from './schedule-parts.ts';
import { type Clocks, clocksOf, stretchBy, ZoneTimes } from './zone-times.ts';

const ROTATIONS = '/projects/:id/oncall/:schedule/rotations';
/** Changes listed per person in a preview. */
const STRETCHES_MAX = 8;

/** The form of a rotation. `rotation` is null for a new one. */
interface RotationPage {
  readonly visit: Visit;
  readonly schedule: OncallSchedule;
  readonly rotation: { readonly id: string; readonly fields: RotationFields } | null;
}

interface FormState {
  readonly draft: RotationFields;
  readonly error: RequestRefused | null;
  readonly changes: readonly PersonChange[] | null;
}

/** The pages that add, edit and end rotations. */
export function serveRotations(pages: FastifyInstance, parts: OnCallPageParts): void {
  const { clock, schedules } = parts;
  pages.get(`${ROTATIONS}/:rotation`, async (request, reply) => {
    const opened = await open(parts, request, reply);
    const draft = opened.rotation?.fields ?? newRotation(lastMonday(clock.now(), opened.schedule));
    return send(parts, reply, opened, { draft, error: null, changes: null });
  });
  pages.post(`${ROTATIONS}/:rotation`, async (request, reply) => {
    const opened = await open(parts, request, reply);
    const { schedule, rotation } = opened;
    return edit(parts, reply, opened, (options) => {
      const fields = rotationIn(formOf(request));
      return rotation === null
        ? schedules.createRotation(schedule, fields, options)
        : schedules.changeRotation(schedule, rotation.id, fields, options);
    });
  });
  pages.post(`${ROTATIONS}/:rotation/end`, async (request, reply) => {
    const opened = await open(parts, request, reply);
    const { schedule, rotation } = opened;
    return edit(parts, reply, opened, (options) =>
      schedules.deleteRotation(schedule, rotation?.id ?? '', options),
    );
  });
}

async function open(
  { frame, schedules }: OnCallPageParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<RotationPage> {
  const visit = await frame.visit(request, reply, 'Maintainer');
  const { schedule: scheduleId, rotation: id } = request.params as { schedule: string; rotation: string };
  const schedule = await schedules.get(visit.membership.project.id, scheduleId);
  if (id === 'new') return { visit, schedule, rotation: null };
  return { visit, schedule, rotation: { id, fields: await schedules.rotation(schedule, id) } };
}

/** Previews an edit, or saves it if its button was pressed. */
async function edit(
  parts: OnCallPageParts,
  reply: FastifyReply,
  opened: RotationPage,
  work: (options: EditOptions) => Promise<RotationEdit>,
): Promise<FastifyReply> {
  const { visit, schedule, rotation } = opened;
  const form = formOf(reply.request);
  const isEnd = form.has('ends');
  const draftOf = () => (isEnd && rotation !== null ? rotation.fields : rotationIn(form));
  const action = form.text('do');
  if (action === 'more') return send(parts, reply, opened, { draft: draftOf(), error: null, changes: null });
  try {
    const effective = effectiveIn(form.text('effective_at'), schedule);
    const options = { author: visit.user.id, effective, isDryRun: action !== 'save' };
    const { changes } = await work(options);
    if (options.isDryRun) return await send(parts, reply, opened, { draft: draftOf(), error: null, changes });
    return await seeOther(reply, schedulePath(schedule), isEnd ? 'Rotation ended.' : 'Rotation saved.');
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.status === 404) throw error;
    return send(parts, reply, opened, { draft: draftOf(), error, changes: null });
  }
}

function effectiveIn(text: string, { time_zone }: OncallSchedule): number | null {
  if (text === '') return null;
  const moment = new ZoneTimes(time_zone).momentOf(text);
  if (moment === null) throw new RequestRefused('bad_request', 'Enter a date and a time.', 'effective_at');
  return moment;
}

/** The proposed first handoff. It is in the past, so somebody is on call at once. */
function lastMonday(now: number, { time_zone }: OncallSchedule): string {
  const times = new ZoneTimes(time_zone);
  const today = times.dateOf('', now);
  const monday = today.subtract({ days: today.dayOfWeek - 1 });
  // On a Monday before nine o'clock, this Monday's handoff is still in the future.
  const isAhead = (times.momentOf(`${monday}T09:00`) ?? 0) > now;
  return `${isAhead ? monday.subtract({ days: 7 }) : monday}T09:00`;
}

async function send(
  { clock, frame, members, users }: OnCallPageParts,
  reply: FastifyReply,
  { visit, schedule, rotation }: RotationPage,
  { draft, error, changes }: FormState,
): Promise<FastifyReply> {
  const { request } = reply;
  const form = formOf(request);
  const all = await members.list(schedule.project_id);
  const people = await users.byId([
    ...all.map(({ user }) => user.id),
    ...(changes ?? []).map(({ user }) => user),
  ]);
  const base = `${schedulePath(schedule)}/rotations/${rotation?.id ?? 'new'}`;
  const fault = error?.field === 'effective_at' ? error.message : null;
  const isEnd = form.has('ends');
  const when = (isShown: boolean, label: string) =>
    effectiveField({
      label,
      zone: schedule.time_zone,
      value: isShown ? form.text('effective_at') : '',
      fault: isShown ? fault : null,
    });
  const title = rotation === null ? 'Add rotation' : `Rotation ${rotation.fields.name}`;
  const save = rotation === null ? 'Add rotation' : 'Save changes';
  const body = html`<p class="under"><a href="/projects/${schedule.project_id}/oncall">On call</a> › <a href="${schedulePath(schedule)}">${schedule.name}</a></p><h1>${title}</h1>
${error && (error.field === null || error.field === 'effective_at') && html`<p class="note bad" role="alert">${error.message}</p>`}
${changes && preview(changes, clocksOf(request, schedule.time_zone, lookAhead(clock.now())), nameIn(people))}
<section class="card"><form method="post" action="${base}">${visit.token}<button class="unseen" name="do" value="preview" tabindex="-1" aria-hidden="true">Preview</button>
${rotationFields({ project: schedule.project_id, draft, candidates: candidatesOf(all), zone: schedule.time_zone, error, asksForMore: form.text('do') === 'more' })}
${rotation !== null && when(!isEnd, 'Takes effect')}
<div class="actions"><button name="do" value="save">${save}</button><button class="second" name="do" value="preview">Preview</button><a class="button second" href="${schedulePath(schedule)}">Cancel</a></div></form></section>
${
  rotation !== null &&
  html`<section class="card"><h2>End this rotation</h2><form method="post" action="${base}/end">${visit.token}<input type="hidden" name="ends" value="yes"><button class="unseen" name="do" value="preview" tabindex="-1" aria-hidden="true">Preview</button>
${when(isEnd, 'Ends')}
<div class="actions"><button class="danger" name="do" value="save">End rotation</button><button class="second" name="do" value="preview">Preview the end</button></div></form></section>`
}`;
  const status = error === null ? 200 : 422;
  return frame.send(reply, visit, { tab: 'oncall', title, body, status, script: 'alerts.js' });
}

function effectiveField(field: { label: string; zone: string; value: string; fault: string | null }): Html {
  const { label, zone, value, fault } = field;
  const hint = `Empty means now. Earlier shifts do not change. In the time zone ${zone}.`;
  const id = label === 'Ends' ? 'ends-effective_at' : 'effective_at';
  const type = 'datetime-local';
  return textField({ name: 'effective_at', id, label, type, value, required: false, hint, fault });
}

/** The changes in the next 8 weeks by person. */
function preview(changes: readonly PersonChange[], clocks: Clocks, nameOf: (user: string) => string): Html {
  const rows = changes.map(({ user, gains, loses }) => {
    const stretches = [
      ...gains.map((stretch) => ({ stretch, label: html`<span class="tag good">more</span>` })),
      ...loses.map((stretch) => ({ stretch, label: html`<span class="tag warn">less</span>` })),
    ].sort((a, b) => a.stretch.from - b.stretch.from);
    const items = stretches
      .slice(0, STRETCHES_MAX)
      .map(({ stretch, label }) => html`<li>${label} ${stretchBy(stretch, clocks)}</li>`);
    const more = stretches.length - STRETCHES_MAX;
    return [
      user === '' ? html`<span class="tag bad">nobody</span>` : html`${nameOf(user)}`,
      html`<ul class="stretches">${items}${more > 0 && html`<li>${more} more changes</li>`}</ul>`,
    ];
  });
  const head = ['Person', 'On call, more or less than before'];
  return html`<section class="card preview plain" role="status"><h2>If you save this</h2><p class="hint">Changes in the next 8 weeks. Nothing is saved yet.</p>${table({ caption: 'Changes', head, rows, empty: 'Nothing changes.' })}</section>`;
}
