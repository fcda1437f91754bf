import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Form } from '../../http/form.ts';
import { button, table, textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import type { OncallOverride, OncallSchedule } from '../model/oncall-tables.ts';
import type { OverrideFields } from '../oncall/overrides.ts';
import type { Span } from '../oncall/time-intervals.ts';
import { select, type Visit } from './frame.ts';
import { type Candidate, type OnCallPageParts, type SendSchedule, schedulePath } from './schedule-parts.ts';
import { type Clocks, stretchBy, ZoneTimes } from './zone-times.ts';

const ONE = '/projects/:id/oncall/:schedule/overrides';
/** The choice to leave a gap. */
const NOBODY = 'nobody';

/** The actions that put somebody else on call for a while. */
export function serveOverrides(
  pages: FastifyInstance,
  { frame, schedules }: OnCallPageParts,
  send: SendSchedule,
): void {
  const action = (
    path: string,
    work: (schedule: OncallSchedule, visit: Visit, request: FastifyRequest) => Promise<string>,
  ) =>
    pages.post(path, async (request, reply) => {
      const visit = await frame.visit(request, reply, 'Developer');
      const { schedule: id } = request.params as { schedule: string };
      const schedule = await schedules.get(visit.membership.project.id, id);
      try {
        const note = await work(schedule, visit, request);
        return await seeOther(reply, schedulePath(schedule), note);
      } catch (error) {
        if (!(error instanceof RequestRefused) || error.status === 404) throw error;
        return send(reply, visit, schedule, { error });
      }
    });
  const authorOf = ({ user, membership: { level } }: Visit) => ({ id: user.id, level });
  action(ONE, async (schedule, visit, request) => {
    const fields = overrideIn(formOf(request), new ZoneTimes(schedule.time_zone));
    await schedules.overrides.create(schedule, fields, authorOf(visit));
    return 'Override added.';
  });
  action(`${ONE}/take`, async (schedule, visit, request) => {
    const form = formOf(request);
    const fields = {
      from_ms: Number(form.text('from_ms')),
      until_ms: Number(form.text('until_ms')),
      user_id: visit.user.id,
      replaces_id: form.text('replaces_id'),
      reason: '',
    };
    const { from_ms, until_ms } = await schedules.overrides.create(schedule, fields, authorOf(visit));
    const times = new ZoneTimes(schedule.time_zone);
    return `You are on call from ${times.moment(from_ms)} to ${times.moment(until_ms)}.`;
  });
  action(`${ONE}/:override/delete`, async (schedule, visit, request) => {
    const { override } = request.params as { override: string };
    await schedules.overrides.delete(schedule.id, override, authorOf(visit));
    return 'Override deleted.';
  });
}

function overrideIn(form: Form, times: ZoneTimes): OverrideFields {
  const momentIn = (field: string) => {
    const moment = times.momentOf(form.text(field));
    if (moment === null) throw new RequestRefused('bad_request', 'Enter a date and a time.', field);
    return moment;
  };
  const user = form.text('user_id');
  if (user === '') throw new RequestRefused('bad_request', 'Choose a person.', 'user_id');
  return {
    from_ms: momentIn('from'),
    until_ms: momentIn('until'),
    user_id: user === NOBODY ? '' : user,
    replaces_id: form.text('replaces_id'),
    reason: form.text('reason'),
  };
}

/** Buttons to take the rest of a shift from each person in it. */
export function takeButtons(
  schedule: OncallSchedule,
  { user, membership: { level }, token }: Visit,
  { from, until }: Span,
  users: readonly string[],
  shown: { readonly now: number; readonly nameOf: (user: string) => string; readonly clocks: Clocks },
): Html | null {
  const { now, nameOf, clocks } = shown;
  if (level < PROJECT_ROLES.Developer || until <= now || users.includes(user.id)) return null;
  const begin = Math.max(from, now);
  const when = `from ${clocks.times.moment(begin)}`;
  const take = (replaced: string, text: string) =>
    html`<form method="post" action="${schedulePath(schedule)}/overrides/take">${token}<input type="hidden" name="from_ms" value="${begin}"><input type="hidden" name="until_ms" value="${until}"><input type="hidden" name="replaces_id" value="${replaced}"><button class="second small" aria-label="${text} ${when}">${text}</button></form>`;
  if (users.length === 0) return take('', 'Take');
  return html`${users.map((other) => take(other, users.length === 1 ? 'Take' : `Take from ${nameOf(other)}`))}`;
}

interface OverrideSection {
  readonly schedule: OncallSchedule;
  readonly visit: Visit;
  readonly overrides: readonly OncallOverride[];
  readonly candidates: readonly Candidate[];
  readonly nameOf: (user: string) => string;
  readonly clocks: Clocks;
  readonly form: Form;
  readonly error: RequestRefused | null;
}

/** The overrides that have not ended, and a form for another one. */
export function overrideSection(section: OverrideSection): Html {
  const { schedule, visit, overrides, nameOf, clocks } = section;
  const { user, membership, token } = visit;
  const isMaintainer = membership.level >= PROJECT_ROLES.Maintainer;
  const rows = overrides.map((override) => {
    const { id, from_ms, until_ms, user_id, replaces_id, reason } = override;
    const mayDelete = isMaintainer || user_id === user.id || (replaces_id === user.id && user_id !== '');
    const name = user_id === '' ? 'Nobody' : nameOf(user_id);
    return [
      html`${name} <span class="under other-clock">instead of ${replaces_id === '' ? 'everybody' : nameOf(replaces_id)}</span>`,
      html`<div class="with-action"><div>${stretchBy({ from: from_ms, until: until_ms }, clocks)}${reason && html`<span class="under other-clock">${reason}</span>`}</div>
${mayDelete && button(`${schedulePath(schedule)}/overrides/${id}/delete`, token, 'Delete', `Delete the override of ${name} from ${clocks.times.moment(from_ms)}`)}</div>`,
    ];
  });
  const head = ['Override', 'From and until'];
  return html`<section class="card overrides plain"><h2>Overrides</h2>${table({ caption: 'Overrides', head, rows, empty: 'No overrides.' })}
${membership.level >= PROJECT_ROLES.Developer && overrideForm(section)}</section>`;
}

function overrideForm({ schedule, visit, candidates, clocks, form, error }: OverrideSection): Html {
  const { user, membership, token } = visit;
  const isMaintainer = membership.level >= PROJECT_ROLES.Maintainer;
  const faultOf = (field: string) => (error?.field === field ? error.message : null);
  const fault = faultOf('user_id') ?? faultOf('replaces_id');
  const people: readonly Candidate[] = isMaintainer
    ? [...candidates, [NOBODY, 'Nobody: leave a gap']]
    : candidates;
  const hint = isMaintainer
    ? 'In the time zone'
    : 'Take a shift, or give yours to somebody. In the time zone';
  return html`<h3>Add an override</h3><form method="post" action="${schedulePath(schedule)}/overrides">${token}
${error && error.field === null && html`<p class="fault" role="alert">${error.message}</p>`}
<div class="fields">${select('user_id', 'On call', people, form.text('user_id') || user.id)}
${select('replaces_id', 'Instead of', [['', 'Everybody'], ...candidates], form.text('replaces_id'))}</div>
${fault && html`<p class="fault" role="alert">${fault}</p>`}
<div class="fields">${textField({ name: 'from', label: 'From', type: 'datetime-local', value: form.text('from'), fault: faultOf('from'), hint: `${hint} ${clocks.times.zone}.` })}
${textField({ name: 'until', label: 'Until', type: 'datetime-local', value: form.text('until'), fault: faultOf('until') })}</div>
${textField({ name: 'reason', label: 'Reason', value: form.text('reason'), required: false, fault: faultOf('reason'), hint: 'Optional.' })}
<button>Add override</button></form>`;
}
