import type { Contacts } from '../destinations/contacts.ts';
import type { DestinationType } from '../messages/destination.ts';
import type { PolicyStep, PolicyTarget } from '../oncall/policies.ts';
import type { Schedules } from '../oncall/schedules.ts';
import type { Span } from '../oncall/time-intervals.ts';
import { canBePaged } from '../paging/can-be-paged.ts';
import { type Recipient, Recipients, type RecipientsDependencies } from '../paging/recipients.ts';

/** Reasons for a gap. */
export const GAP_REASONS = [
  'nobody_on_call',
  'no_schedule',
  'no_channel',
  'cannot_be_paged',
  'no_contact',
] as const;

export interface Gap {
  readonly reason: (typeof GAP_REASONS)[number];
  /** The person whom no message would reach; '' if the gap does not concern a person. */
  readonly user: string;
  /** The span in which nobody is on call; null for a gap without an end. */
  readonly span: Span | null;
}

interface RecipientPreview extends Recipient {
  readonly type: DestinationType;
}

export interface TargetPreview {
  readonly target: PolicyTarget;
  readonly recipients: readonly RecipientPreview[];
  /** Gaps of the schedule in the next 60 days, and people and channels that cannot be notified now. */
  readonly gaps: readonly Gap[];
}

export interface StepPreview {
  readonly step: PolicyStep;
  readonly targets: readonly TargetPreview[];
  /** True if nobody would be notified. The page then continues with the next step at once. */
  readonly reachesNobody: boolean;
}

export interface StepPreviewsDependencies extends Omit<RecipientsDependencies, 'schedules' | 'rules'> {
  readonly notificationRules: RecipientsDependencies['rules'];
  readonly contacts: Pick<Contacts, 'find'>;
  readonly schedules: Pick<Schedules, 'find' | 'gaps' | 'onCall'>;
}

/** The people and channels that steps of policies would notify at a moment, and the gaps. */
export class StepPreviews {
  readonly #deps: StepPreviewsDependencies;
  readonly #projectId: string;
  readonly #now: number;
  readonly #recipients: Recipients;

  constructor(dependencies: StepPreviewsDependencies, projectId: string, now: number) {
    this.#deps = dependencies;
    this.#projectId = projectId;
    this.#now = now;
    this.#recipients = new Recipients(
      { ...dependencies, rules: dependencies.notificationRules },
      projectId,
      now,
    );
  }

  async of(step: PolicyStep): Promise<StepPreview> {
    const targets = await Promise.all(step.targets.map((target) => this.#ofTarget(target, step.important)));
    return { step, targets, reachesNobody: targets.every(({ recipients }) => recipients.length === 0) };
  }

  async #ofTarget(target: PolicyTarget, important: boolean): Promise<TargetPreview> {
    const found = await this.#recipients.ofStep({ targets: [target], important, delay_minutes: 1 });
    const recipients = await Promise.all(found.map((recipient) => this.#typed(recipient)));
    return {
      target,
      recipients: recipients.filter((recipient) => recipient !== null),
      gaps: await this.#gapsOf(target, new Set(found.map(({ user }) => user))),
    };
  }

  async #typed(recipient: Recipient): Promise<RecipientPreview | null> {
    const { channels, contacts } = this.#deps;
    const { user, destination } = recipient;
    const found = await (user === ''
      ? channels.find(this.#projectId, destination)
      : contacts.find(destination));
    return found && { ...recipient, type: found.type };
  }

  async #gapsOf({ type, id }: PolicyTarget, reached: ReadonlySet<string>): Promise<readonly Gap[]> {
    if (type === 'channel') return reached.size > 0 ? [] : [{ reason: 'no_channel', user: '', span: null }];
    if (type === 'user') return this.#silentAmong([id], reached);
    const { schedules } = this.#deps;
    const schedule = await schedules.find(this.#projectId, id);
    if (schedule === null) return [{ reason: 'no_schedule', user: '', span: null }];
    const [users, spans] = await Promise.all([
      schedules.onCall(this.#projectId, id, this.#now),
      schedules.gaps(schedule),
    ]);
    const gaps = spans.map((span): Gap => ({ reason: 'nobody_on_call', user: '', span }));
    return [...(await this.#silentAmong(users, reached)), ...gaps];
  }

  /** A gap for each of some people whom no message would reach. */
  async #silentAmong(users: readonly string[], reached: ReadonlySet<string>): Promise<readonly Gap[]> {
    const silent = users.filter((user) => !reached.has(user));
    return Promise.all(
      silent.map(async (user) => {
        const mayBePaged = await canBePaged(this.#deps, this.#projectId, user);
        return { reason: mayBePaged ? 'no_contact' : 'cannot_be_paged', user, span: null };
      }),
    );
  }
}
