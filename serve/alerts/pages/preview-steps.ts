import type { FastifyRequest } from 'fastify';
import type { Clock } from '../../../infra/ports.ts';
import { type Html, html } from '../../pages/html.ts';
import type { AlertDomain } from '../composition/domain.ts';
import type { RoutePreview } from '../preview/route-preview.ts';
import type { Gap, StepPreview, TargetPreview } from '../preview/step-preview.ts';
import { DESTINATION_LABELS } from './destination-labels.ts';
import { keyOfTarget, targetGroups, targetNames } from './escalation-targets.ts';
import { gapList, lookAhead, nameIn } from './schedule-parts.ts';
import { type Clocks, clocksOf } from './zone-times.ts';

export interface PreviewPageParts extends Pick<AlertDomain, 'channels' | 'members' | 'schedules' | 'users'> {
  readonly clock: Clock;
}

/** Names of targets and people, and the clocks of schedules. */
interface Shown {
  readonly targetName: (target: TargetPreview['target']) => string;
  readonly userName: (user: string) => string;
  readonly clocksOf: (scheduleId: string) => Clocks;
}

const REASONS: Readonly<Record<Gap['reason'], string>> = {
  nobody_on_call: 'nobody is on call',
  no_schedule: 'the schedule is no longer available',
  no_channel: 'the channel is no longer available, or not active',
  cannot_be_paged: 'cannot be paged: the account is locked or has lost the Developer role',
  no_contact: 'has no verified contact',
};

/** The steps of each policy that an alert would page by, with the people notified now. */
export async function pageCards(
  parts: PreviewPageParts,
  request: FastifyRequest,
  projectId: string,
  pages: RoutePreview['pages'],
): Promise<Html> {
  const { schedules, users, clock } = parts;
  const targets = pages.flatMap(({ steps }) => steps.flatMap(({ targets }) => targets));
  const people = targets.flatMap(({ recipients, gaps }) => [...recipients, ...gaps].map(({ user }) => user));
  const [groups, list, found] = await Promise.all([
    targetGroups(parts, projectId),
    schedules.list(projectId),
    users.byId(people),
  ]);
  const names = targetNames(groups);
  const span = lookAhead(clock.now());
  const zoneOf = (id: string) => list.find((schedule) => schedule.id === id)?.time_zone ?? 'UTC';
  const shown: Shown = {
    targetName: (target) => names.get(keyOfTarget(target)) ?? 'no longer available',
    userName: nameIn(found),
    clocksOf: (id) => clocksOf(request, zoneOf(id), span),
  };
  return html`${pages.map(
    ({ route, policy, delaySeconds, steps }) =>
      html`<section class="card"><h2>${policy.name}</h2><p class="hint">Route ${route}${delaySeconds > 0 && `, after ${delaySeconds} seconds`}.</p>
<ol class="steps">${steps.map((step) => stepItem(step, shown))}</ol></section>`,
  )}`;
}

const stepItem = ({ step, targets, reachesNobody }: StepPreview, shown: Shown): Html =>
  html`<li>${targets.map((target) => targetPart(target, shown))}
${reachesNobody && html`<p><span class="tag bad">reaches nobody now</span> The next step runs at once.</p>`}
${!reachesNobody && html`<p class="hint">Then the page waits ${step.delay_minutes} min.</p>`}</li>`;

function targetPart({ target, recipients, gaps }: TargetPreview, shown: Shown): Html {
  const byUser = Map.groupBy(recipients, ({ user }) => user);
  const lasting = gaps.filter(({ span }) => span === null);
  const spans = gaps.flatMap(({ span }) => (span === null ? [] : [span]));
  return html`<p><b>${shown.targetName(target)}</b> ${[...byUser].map(([user, list]) => {
    const contacts = list.map(
      ({ type, afterMinutes }) =>
        `${DESTINATION_LABELS[type].label}${afterMinutes > 0 ? ` after ${afterMinutes} min` : ''}`,
    );
    return html`<span class="under">${user !== '' && target.type !== 'user' && `${shown.userName(user)} `}by ${contacts.join(', ')}</span> `;
  })}${lasting.map(
    ({ reason, user }) =>
      html`${user !== '' && target.type !== 'user' && `${shown.userName(user)} `}<span class="tag bad">${REASONS[reason]}</span> `,
  )}</p>
${target.type === 'schedule' && spans.length > 0 && html`<p class="hint">Nobody is on call:</p>${gapList(spans, shown.clocksOf(target.id))}`}`;
}
