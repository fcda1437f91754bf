import type { FastifyReply } from 'fastify';
import { DAY_MS } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { User } from '../../accounts/tables.ts';
import { type Html, html } from '../../pages/html.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { PROJECT_ROLES, type RequestRefused } from '../model/access.ts';
import type { OncallSchedule } from '../model/oncall-tables.ts';
import type { Policy } from '../oncall/policies.ts';
import type { Span } from '../oncall/time-intervals.ts';
import type { ProjectMember } from '../projects/members.ts';
import type { ProjectFrame, Visit } from './frame.ts';
import type { Board } from './on-call-board.ts';
import { type Clocks, momentBy, stretchBy } from './zone-times.ts';

export interface OnCallPageParts
  extends Pick<
    AlertDomain,
    'alertRoutes' | 'members' | 'notificationRules' | 'policies' | 'schedules' | 'users'
  > {
  readonly frame: ProjectFrame;
  readonly clock: Clock;
  readonly url: () => string;
}

/** Days for which gaps and shifts are listed. */
export const DAYS_AHEAD = 60;

export const lookAhead = (now: number): Span => ({ from: now, until: now + DAYS_AHEAD * DAY_MS });

/** The policies that page a schedule. */
export const policiesOf = ({ id }: OncallSchedule, all: readonly Policy[]): readonly Policy[] =>
  all.filter(({ steps }) =>
    steps.some(({ targets }) => targets.some((target) => target.type === 'schedule' && target.id === id)),
  );

const GAPS_MAX = 5;

export const schedulePath = ({ project_id, id }: OncallSchedule): string =>
  `/projects/${project_id}/oncall/${id}`;

/** The first gaps of a schedule, in red. */
export function gapList(gaps: readonly Span[], clocks: Clocks): Html {
  if (gaps.length === 0) return html`<span class="tag good">none</span>`;
  const more = gaps.length - GAPS_MAX;
  const items = gaps.slice(0, GAPS_MAX).map((gap) => html`<li>${stretchBy(gap, clocks)}</li>`);
  return html`<ul class="gaps">${items}${more > 0 && html`<li>${more} more</li>`}</ul>`;
}

/** The people on call now and next, and the gaps. */
export function boardFacts(
  { current, next, until, gaps }: Board,
  clocks: Clocks,
  nameOf: (user: string) => string,
): Html {
  const people = (users: readonly string[]) => html`<b>${users.map(nameOf).join(', ')}</b>`;
  const now =
    current === null
      ? html`<span class="tag bad">nobody</span>`
      : html`${people(current.users)} ${current.until === until ? `for ${DAYS_AHEAD} days or longer` : html`until ${momentBy(current.until, clocks)}`}`;
  const then = next === null ? html`–` : html`${people(next.users)} from ${momentBy(next.from, clocks)}`;
  return html`<dl class="facts board"><dt>Now</dt><dd>${now}</dd><dt>Next</dt><dd>${then}</dd><dt>Gaps in ${DAYS_AHEAD} days</dt><dd>${gapList(gaps, clocks)}</dd></dl>`;
}

export const nameIn =
  (users: ReadonlyMap<string, User>) =>
  (id: string): string =>
    `@${users.get(id)?.username ?? 'deleted-user'}`;

/** The users among some whom no page would reach. */
export async function unreachableUsers(
  { notificationRules }: Pick<OnCallPageParts, 'notificationRules'>,
  people: readonly string[],
): Promise<readonly string[]> {
  const rules = await Promise.all(people.map((user) => notificationRules.rulesFor(user, false)));
  return people.filter((_, i) => rules[i]?.length === 0);
}

export function unreachableNote(people: readonly string[], nameOf: (user: string) => string): Html | null {
  if (people.length === 0) return null;
  const [has, them] = people.length === 1 ? ['has', 'this person'] : ['have', 'them'];
  return html`<p class="note warn">${people.map(nameOf).join(', ')} ${has} no verified contact: no page reaches ${them}. They add contacts in their account, under <a href="/profile/notifications">Notifications</a>.</p>`;
}

/** A user and the label in lists. */
export type Candidate = readonly [user: string, label: string];

/** The members who can be on call. */
export const candidatesOf = (members: readonly ProjectMember[]): readonly Candidate[] =>
  members
    .filter(({ level, user }) => level >= PROJECT_ROLES.Developer && user.locked_ms === 0)
    .map(({ user }) => [
      user.id,
      user.name === user.username ? `@${user.username}` : `@${user.username}, ${user.name}`,
    ]);

/** State of the page of a schedule after a form. */
export interface ScheduleState {
  /** The address of the calendar, which is shown once. */
  readonly calendar?: string | null;
  /** Error of the override form. */
  readonly error?: RequestRefused | null;
  /** Error of the settings form. */
  readonly settingsError?: RequestRefused | null;
}

export type SendSchedule = (
  reply: FastifyReply,
  visit: Visit,
  schedule: OncallSchedule,
  state: ScheduleState,
) => Promise<FastifyReply>;
