import { isDeepStrictEqual } from 'node:util';
import type { Policy } from '../oncall/policies.ts';
import type { Suppression } from '../suppression/suppressor.ts';

// The transitions of a page: pure functions of the page, its policy and the time.

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
  /** Ids of the silences and maintenance windows that suppress it. */
  readonly suppressed_by: readonly string[];
  readonly severity: string;
  /** `round` counts runs of the policy, `cycle` passes through its steps in a run. Both start at 1. */
  readonly round: number;
  readonly cycle: number;
  /** The step that was carried out last, from 1; 0 before the first of a round. */
  readonly step: number;
  /** Time at which `advance` is due. */
  readonly next_ms: number;
  /** Time at which the step was carried out. */
  readonly step_ms: number;
  /** Position of the newest event that was applied to the page. */
  readonly position: number;
  readonly created_ms: number;
  readonly acknowledged_by: string;
  readonly acknowledged_ms: number;
  readonly closed_ms: number;
  readonly version: number;
}

/** A change of an alert that can change its pages. */
export interface AlertChange {
  readonly name: 'created' | 'raised' | 'acknowledged' | 'triggered' | 'reopened' | 'ignored' | 'resolved';
  readonly position: number;
  /** When the event was accepted. */
  readonly at: number;
  /** The user; '' for the source or the server. */
  readonly by: string;
}

/** A later notification of everyone who was called. */
type StatusUpdate = 'acknowledged' | 'resolved';

export interface PageChange {
  readonly page: AlertPage;
  readonly update: StatusUpdate | null;
  /** Entry for the log of the page; '' for none. */
  readonly log: string;
}

/** `reached` if a destination accepted a call of the step; `unknown` while a call is pending. */
export type Reach = 'reached' | 'unreached' | 'unknown';

export interface Advance {
  readonly page: AlertPage;
  /** True: carry out the step of the page now. */
  readonly carriesOut: boolean;
  /** True: set the alert back to triggered. */
  readonly setsBack: boolean;
  /** Reason to notify the Owners and Maintainers that the policy ended; '' for none. */
  readonly exhaustion: '' | 'nobody acknowledged' | 'nobody was reached';
  readonly log: string;
}

/** Key of a page within its project. */
export const pageKey = ({ alert, policy }: Pick<AlertPage, 'alert' | 'policy'>): string =>
  `${alert}/${policy}`;

/** True while the policy is in progress, or has ended without an acknowledgement and may start again. */
export const isCalling = ({ state }: Pick<AlertPage, 'state'>): boolean =>
  state === 'waiting' || state === 'triggered' || state === 'exhausted';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Interval at which a step is checked again while its calls are pending. */
const LOOK_MS = 5_000;
/** Delay of the reminder if nobody was reached; overrides `reminder_hours`. */
const UNREACHED_REMINDER_MS = 15 * MINUTE_MS;

export function newPage(
  fields: Pick<AlertPage, 'project' | 'alert' | 'policy' | 'route' | 'severity'>,
  { position, at }: AlertChange,
  {
    delayMs,
    suppression,
    now,
  }: { readonly delayMs: number; readonly suppression: Suppression | null; readonly now: number },
): AlertPage {
  const page: AlertPage = {
    ...{ ...fields, position, suppressed_by: [] },
    state: 'waiting',
    ...{ round: 1, cycle: 1, step: 0, step_ms: 0, next_ms: at + delayMs, created_ms: at },
    ...{ acknowledged_by: '', acknowledged_ms: 0, closed_ms: 0, version: 0 },
  };
  if (suppression !== null) return suppress(page, suppression, now);
  return delayMs > 0 ? page : { ...page, state: 'triggered' };
}

/**
 * Suppresses a page. When the suppression ends, the page starts at the first step, because other people may be on call by
 * then. The delay of the route is skipped. If a kill separated the calls of a first step from their page, the calls are
 * stored but `step` is still 0. Suppression cancels these calls, so later calls need ids of another round.
 */
function suppress(page: AlertPage, { silencedBy, mutedBy, until }: Suppression, now: number): AlertPage {
  const round = page.state === 'triggered' && page.step === 0 ? page.round + 1 : page.round;
  const next_ms = Math.max(now, until);
  return { ...page, state: 'suppressed', suppressed_by: [...silencedBy, ...mutedBy], round, next_ms };
}

export const SUPPRESSED = 'suppressed by a silence or a maintenance window';

/** The page after a change of silences or maintenance windows; null if the page does not change. */
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

/** Applies a change of the alert to a page. `isRouted`: a route still leads to the page's policy. */
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

/** Starts a page again at the first step. Counts a new round, unless `suppress` has already done so or no call was made. */
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
  /** Reach of the last step, and of all steps of this cycle. */
  readonly reach: Reach;
  readonly cycleReach: Reach;
  /** True if a destination accepted a call of this round. */
  readonly isRoundReached: boolean;
  readonly now: number;
  /** True if a user requested the next step. */
  readonly isForced?: boolean;
}

/** Advances a due page: checks its step again, carries out the next one, ends the policy, or starts again. */
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
    // The timeout of the policy may have changed since the acknowledgement.
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

/** The fields of a call that decide on the reach of its step. */
export interface StepCall {
  readonly state: 'pending' | 'sending' | 'sent' | 'failed' | 'cancelled';
  readonly due_ms: number;
  /** True before the first attempt if the destination accepted another message recently. */
  readonly waitsForBundle: boolean;
}

/** The reach of several steps together. */
export function reachOfAll(steps: readonly Reach[]): Reach {
  if (steps.includes('reached')) return 'reached';
  return steps.includes('unknown') ? 'unknown' : 'unreached';
}

/** The reach of a step by its calls. */
export function reachOf(calls: readonly StepCall[], now: number, unreachedMs: number): Reach {
  if (calls.some(({ state }) => state === 'sent')) return 'reached';
  const open = calls.filter(({ state }) => state === 'pending' || state === 'sending');
  if (open.length === 0) return 'unreached';
  const first = Math.min(...open.map(({ due_ms }) => due_ms));
  return open.some(({ waitsForBundle }) => waitsForBundle) || now < first + unreachedMs
    ? 'unknown'
    : 'unreached';
}
