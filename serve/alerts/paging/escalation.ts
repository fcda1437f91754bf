import { isDeepStrictEqual } from 'node:util';
import type { Policy } from '../oncall/policies.ts';
import type { Suppression } from '../suppression/suppressor.ts';

// How a page goes on: pure functions of a page, its policy and the time.

export const PAGE_STATES = [
  'suppressed',
  'waiting',
  'triggered',
  'exhausted',
  'acknowledged',
  'closed',
] as const;
type PageState = (typeof PAGE_STATES)[number];

/** The escalation of one alert by one policy. Times are in milliseconds; 0 means none. */
export interface AlertPage {
  readonly project: number;
  readonly alert: number;
  readonly policy: string;
  /** Name of the route that led to the policy. */
  readonly route: string;
  readonly state: PageState;
  /** Ids of the silences and maintenance windows that keep it from calling. */
  readonly suppressed_by: readonly string[];
  readonly severity: string;
  /** `round` counts runs of the policy, `cycle` passes through its steps in a run. Both start at 1. */
  readonly round: number;
  readonly cycle: number;
  /** The step that was carried out last, from 1; 0 before the first of a round. */
  readonly step: number;
  /** When `advance` is due. */
  readonly next_ms: number;
  /** When the step was carried out. */
  readonly step_ms: number;
  /** Of the newest event of the alert that the page follows. */
  readonly position: number;
  readonly created_ms: number;
  readonly acknowledged_by: string;
  readonly acknowledged_ms: number;
  readonly closed_ms: number;
  readonly version: number;
}

/** A change of an alert that a page follows. */
export interface AlertChange {
  readonly name: 'created' | 'raised' | 'acknowledged' | 'triggered' | 'reopened' | 'ignored' | 'resolved';
  readonly position: number;
  /** When the event was accepted. */
  readonly at: number;
  /** The user; '' for the source or the server. */
  readonly by: string;
}

/** What people who were called are told later. */
type StatusUpdate = 'acknowledged' | 'resolved';

export interface PageChange {
  readonly page: AlertPage;
  readonly update: StatusUpdate | null;
  /** What the log of the page says of it; '' for nothing. */
  readonly log: string;
}

/** Whether a destination accepted a call of the step; `unknown` while one is pending. */
export type Reach = 'reached' | 'unreached' | 'unknown';

export interface Advance {
  readonly page: AlertPage;
  /** Whether the step of the page is to be carried out now. */
  readonly carriesOut: boolean;
  /** Whether the alert is to be set back to triggered. */
  readonly setsBack: boolean;
  /** Why the owners are told that the policy ended; '' when they are not. */
  readonly exhaustion: '' | 'nobody acknowledged' | 'nobody was reached';
  readonly log: string;
}

/** Of the escalation of an alert by a policy. */
export const pageKey = ({ alert, policy }: Pick<AlertPage, 'alert' | 'policy'>): string =>
  `${alert}/${policy}`;

/** Whether a page calls people, or will. */
export const isCalling = ({ state }: Pick<AlertPage, 'state'>): boolean =>
  state === 'waiting' || state === 'triggered' || state === 'exhausted';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Interval at which a step is checked again while its calls are pending. */
const LOOK_MS = 5_000;
/** Delay of the reminder if nobody was reached; overrides `reminder_hours`. */
const UNREACHED_REMINDER_MS = 15 * MINUTE_MS;

export function newPage(
  of: Pick<AlertPage, 'project' | 'alert' | 'policy' | 'route' | 'severity'>,
  { position, at }: AlertChange,
  {
    delayMs,
    suppression,
    now,
  }: { readonly delayMs: number; readonly suppression: Suppression | null; readonly now: number },
): AlertPage {
  const page: AlertPage = {
    ...{ ...of, position, suppressed_by: [] },
    state: 'waiting',
    ...{ round: 1, cycle: 1, step: 0, step_ms: 0, next_ms: at + delayMs, created_ms: at },
    ...{ acknowledged_by: '', acknowledged_ms: 0, closed_ms: 0, version: 0 },
  };
  if (suppression !== null) return suppress(page, suppression, now);
  return delayMs > 0 ? page : { ...page, state: 'triggered' };
}

/**
 * A page that calls nobody while silences or maintenance windows match its alert. When none matches any more it begins
 * with the first step at once: others may be on call by now, and the delay of the route has no use
 * for an alert that outlasted a silence. Calls of a first step may be stored before their page, and are cancelled now,
 * so the next ones belong to another round.
 */
function suppress(page: AlertPage, { silencedBy, mutedBy, until }: Suppression, now: number): AlertPage {
  const round = page.state === 'triggered' && page.step === 0 ? page.round + 1 : page.round;
  const next_ms = Math.max(now, until);
  return { ...page, state: 'suppressed', suppressed_by: [...silencedBy, ...mutedBy], round, next_ms };
}

export const SUPPRESSED = 'suppressed by a silence or a maintenance window';

/** A page after silences or maintenance windows changed; null if they change nothing for it. */
export function afterSuppressionChange(
  page: AlertPage,
  suppression: Suppression | null,
  now: number,
): AlertPage | null {
  if (suppression === null) return page.state === 'suppressed' ? { ...page, next_ms: now } : null;
  if (page.state !== 'suppressed' && !isCalling(page)) return null;
  const next = suppress(page, suppression, now);
  const isSame = next.next_ms === page.next_ms && isDeepStrictEqual(next.suppressed_by, page.suppressed_by);
  return page.state === 'suppressed' && isSame ? null : next;
}

/** The page after a change of its alert; `isRouted`: the route still leads to its policy. */
export function follow(
  page: AlertPage,
  change: AlertChange,
  { policy, isRouted, severity }: { policy: Policy | null; isRouted: boolean; severity: string },
): PageChange {
  const { name, at, by, position } = change;
  const { state } = page;
  const next = { ...page, position };
  const hasNotifiedNobody =
    (state === 'waiting' || state === 'suppressed') && page.step === 0 && page.round === 1;
  const hasStarted =
    state === 'triggered' || state === 'exhausted' || (state === 'suppressed' && !hasNotifiedNobody);
  if (name === 'acknowledged' && hasStarted) {
    const timeoutMs = (policy?.ack_timeout_minutes ?? 0) * MINUTE_MS;
    const next_ms = timeoutMs > 0 ? at + timeoutMs : 0;
    const acknowledged = { acknowledged_by: by, acknowledged_ms: at, next_ms };
    return { page: { ...next, state: 'acknowledged', ...acknowledged }, update: 'acknowledged', log: name };
  }
  if (name === 'resolved' || name === 'ignored' || name === 'acknowledged') {
    if (state === 'closed' || (state === 'acknowledged' && name === 'acknowledged')) return unchanged(next);
    return {
      page: { ...next, state: 'closed', closed_ms: at, next_ms: 0 },
      update: hasNotifiedNobody ? null : 'resolved',
      log: hasNotifiedNobody ? `${name} before anybody was paged` : name,
    };
  }
  if (name === 'raised') return unchanged({ ...next, severity });
  const isBack = name === 'triggered' || name === 'reopened';
  if (isBack && (state === 'acknowledged' || (state === 'closed' && isRouted)))
    return { page: startRound(next, at), update: null, log: name === 'reopened' ? name : 'set back' };
  return unchanged(next);
}

const unchanged = (page: AlertPage): PageChange => ({ page, update: null, log: '' });

/** A page that begins with the first step again. */
function startRound(page: AlertPage, now: number): AlertPage {
  const hasCalledNobody = page.state === 'suppressed' && page.step === 0;
  const round = hasCalledNobody ? page.round : page.round + 1;
  const blank = {
    ...{ cycle: 1, step: 0, step_ms: 0, acknowledged_by: '', acknowledged_ms: 0, closed_ms: 0 },
    suppressed_by: [],
  };
  return { ...page, ...blank, state: 'triggered', round, next_ms: now };
}

interface AdvanceContext {
  readonly policy: Policy;
  readonly suppression: Suppression | null;
  /** Of the step that was carried out last, and of all steps of this cycle. */
  readonly reach: Reach;
  readonly cycleReach: Reach;
  /** Whether anybody accepted a call of this round. */
  readonly isRoundReached: boolean;
  readonly now: number;
  /** Whether somebody asked for the next step. */
  readonly isForced?: boolean;
}

/** Decides what a due page does next: check its step again, carry out one, end its policy, or begin again. */
export function advance(page: AlertPage, context: AdvanceContext): Advance {
  const { policy, suppression, now, isForced = false } = context;
  const idle = { carriesOut: false, setsBack: false, exhaustion: '' as const, log: '' };
  if (suppression !== null && page.state !== 'acknowledged' && page.state !== 'closed') {
    const log = page.state === 'suppressed' ? '' : SUPPRESSED;
    return { ...idle, page: suppress(page, suppression, now), log };
  }
  if (page.state === 'suppressed') return carryOut(startRound(page, now), context, 'no longer suppressed');
  if (page.state === 'waiting') return carryOut({ ...page, state: 'triggered' }, context, '');
  if (page.state === 'exhausted') return carryOut(startRound(page, now), context, 'paging starts again');
  if (page.state === 'acknowledged') {
    // The policy may have another timeout by now.
    const timeoutMs = policy.ack_timeout_minutes * MINUTE_MS;
    const next_ms = timeoutMs > 0 ? page.acknowledged_ms + timeoutMs : 0;
    if (next_ms === 0 || next_ms > now) return { ...idle, page: { ...page, next_ms } };
    const log = `not resolved ${policy.ack_timeout_minutes} minutes after the acknowledgement`;
    return { ...idle, page: startRound(page, now), setsBack: true, log };
  }
  if (page.state === 'closed') return { ...idle, page: { ...page, next_ms: 0 } };
  if (page.step === 0) return carryOut(page, context, '');
  const endsAt = page.step_ms + (policy.steps[page.step - 1]?.delay_minutes ?? 0) * MINUTE_MS;
  if (isForced || now >= endsAt) return carryOut(page, context, '');
  if (context.reach === 'unreached') return carryOut(page, context, `step ${page.step} reached nobody`);
  const next_ms = context.reach === 'reached' ? endsAt : Math.min(now + LOOK_MS, endsAt);
  return { ...idle, page: { ...page, next_ms } };
}

/** Carries out the next step, or the first of the next cycle, or ends the policy. */
function carryOut(page: AlertPage, context: AdvanceContext, log: string): Advance {
  const { policy, cycleReach, isRoundReached, now } = context;
  const isLast = page.step >= policy.steps.length;
  const result = { carriesOut: false, setsBack: false, exhaustion: '' as const, log };
  const isOver = isLast && page.cycle > policy.repeats;
  if ((isLast && cycleReach === 'unreached') || (isOver && !isRoundReached))
    return exhaust(page, 'nobody was reached', now + UNREACHED_REMINDER_MS);
  if (isOver) {
    const reminderMs = policy.reminder_hours * HOUR_MS;
    return exhaust(page, 'nobody acknowledged', reminderMs > 0 ? now + reminderMs : 0);
  }
  const [cycle, step] = isLast ? [page.cycle + 1, 1] : [page.cycle, page.step + 1];
  const next = { ...page, cycle, step, step_ms: now, next_ms: now + LOOK_MS };
  return { ...result, page: next, carriesOut: true };
}

const exhaust = (page: AlertPage, exhaustion: Advance['exhaustion'], next_ms: number): Advance => ({
  page: { ...page, state: 'exhausted', next_ms },
  carriesOut: false,
  setsBack: false,
  exhaustion,
  log: `the policy ended: ${exhaustion}`,
});

/** A call of a step, as far as it says whether somebody was reached. */
export interface StepCall {
  readonly state: 'pending' | 'sending' | 'sent' | 'failed' | 'cancelled';
  readonly due_ms: number;
  /** Whether it was not tried yet and its destination accepted another message moments ago, so that it waits to be bundled. */
  readonly waitsForBundle: boolean;
}

/** Whether anybody accepted a call of one of some steps. */
export function reachOfAll(steps: readonly Reach[]): Reach {
  if (steps.includes('reached')) return 'reached';
  return steps.includes('unknown') ? 'unknown' : 'unreached';
}

/** Whether anybody accepted one of the calls of a step. */
export function reachOf(calls: readonly StepCall[], now: number, unreachedMs: number): Reach {
  if (calls.some(({ state }) => state === 'sent')) return 'reached';
  const open = calls.filter(({ state }) => state === 'pending' || state === 'sending');
  if (open.length === 0) return 'unreached';
  const first = Math.min(...open.map(({ due_ms }) => due_ms));
  return open.some(({ waitsForBundle }) => waitsForBundle) || now < first + unreachedMs
    ? 'unknown'
    : 'unreached';
}
