import type { FastifyRequest } from 'fastify';
import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import { HOUR_MS } from '../../../infra/days.ts';
import type { Form } from '../../http/form.ts';
import { textField } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import { RequestRefused } from '../model/access.ts';
import { timeZoneName } from '../oncall/first-instant.ts';
import type { SilenceFields } from '../suppression/silence.ts';
import { linesOf, selectiveMatchersIn } from './matcher-lines.ts';
import { readerZoneOf, ZoneTimes } from './zone-times.ts';

const PROPOSED_HOURS = 2;

/** Form values. Times are in `zone`. */
export interface SilenceDraft {
  readonly matchers: string;
  readonly starts: string;
  readonly ends: string;
  readonly comment: string;
  readonly zone: string;
}

export function newDraft(request: FastifyRequest, matchers: readonly Matcher[], now: number): SilenceDraft {
  const zone = timeZoneName(readerZoneOf(request)) ?? 'UTC';
  const times = new ZoneTimes(zone);
  return {
    matchers: linesOf(matchers),
    starts: '',
    ends: times.input(now + PROPOSED_HOURS * HOUR_MS),
    comment: '',
    zone,
  };
}

export const draftIn = (form: Form): SilenceDraft => ({
  matchers: form.text('matchers'),
  starts: form.text('starts'),
  ends: form.text('ends'),
  comment: form.text('comment'),
  zone: timeZoneName(form.text('zone')) ?? 'UTC',
});

/** Parses the silence in a form. Without a start, the silence starts now. */
export function fieldsIn(draft: SilenceDraft, now: number, username: string): SilenceFields {
  const times = new ZoneTimes(draft.zone);
  const momentOf = (field: 'starts' | 'ends'): number => {
    const moment = times.momentOf(draft[field]);
    if (moment === null) throw new RequestRefused('bad_request', 'Enter a date and a time.', FIELDS[field]);
    return moment;
  };
  return {
    matchers: selectiveMatchersIn(draft.matchers, 'matchers'),
    starts_ms: draft.starts === '' ? now : momentOf('starts'),
    ends_ms: momentOf('ends'),
    created_by: username,
    comment: draft.comment,
    annotations: {},
  };
}

/** API names of the fields. */
const FIELDS = { starts: 'starts_at', ends: 'ends_at' } as const;

interface SilenceFormState {
  readonly action: string;
  readonly token: Html;
  readonly draft: SilenceDraft;
  readonly error: RequestRefused | null;
  /** Counts of matching and open alerts; null before they are counted. */
  readonly count: { readonly matching: number; readonly open: number } | null;
}

export function silenceForm({ action, token, draft, error, count }: SilenceFormState): Html {
  const faultOf = (field: string) => (error?.field === field ? error.message : null);
  const hint =
    'One per line, as in Alertmanager: name="value", !=, or =~ and !~ with a regular expression. An alert must match all.';
  return html`<form method="post" action="${action}">${token}<input type="hidden" name="zone" value="${draft.zone}">
${error && error.field === null && html`<p class="note bad" role="alert">${error.message}</p>`}
${textField({ name: 'matchers', label: 'Matchers', rows: 5, value: draft.matchers, hint, fault: faultOf('matchers') })}
<div class="fields">${textField({ name: 'starts', label: 'Starts', type: 'datetime-local', required: false, value: draft.starts, hint: 'Empty means now.', fault: faultOf(FIELDS.starts) })}
${textField({ name: 'ends', label: 'Ends', type: 'datetime-local', value: draft.ends, hint: `In the time zone ${draft.zone}.`, fault: faultOf(FIELDS.ends) })}</div>
${textField({ name: 'comment', label: 'Comment', required: false, value: draft.comment, hint: 'Optional. Why nobody needs to be paged.', fault: faultOf('comment') })}
${count && html`<p class="note" role="status">${countText(count)}</p>`}
<div class="actions"><button name="do" value="create">Create silence</button><button class="second" name="do" value="count">Count matching alerts</button></div></form>`;
}

function countText({ matching, open }: { readonly matching: number; readonly open: number }): string {
  if (open === 0) return 'There is no open alert now.';
  return `${matching} of ${open} open ${open === 1 ? 'alert' : 'alerts'} ${matching === 1 ? 'matches' : 'match'}.`;
}
