import { cleanLine } from '../../../aggregate/alerts/formats/values.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { newLocator } from '../../accounts/secrets.ts';
import type { Records } from '../../stored-records/records.ts';
import { RequestRefused } from '../model/access.ts';
import type { EscalationPolicy } from '../model/oncall-tables.ts';

const POLICIES_PER_PROJECT = 50;
/** Limit of the policies that are read for the metrics of all projects. */
const ALL_POLICIES_MAX = 100_000;
const NAME_CHARACTERS_MAX = 255;
export const STEPS_MAX = 10;
export const TARGETS_MAX = 20;
/** The range of each number of a policy or a step. */
export const POLICY_RANGES = {
  delay_minutes: { min: 1, max: 1440 },
  repeats: { min: 0, max: 10 },
  reminder_hours: { min: 0, max: 24 },
  ack_timeout_minutes: { min: 0, max: 1440 },
} as const;
export const POLICY_DEFAULTS = { repeats: 2, reminder_hours: 4, ack_timeout_minutes: 0 } as const;

export const TARGET_TYPES = ['schedule', 'user', 'channel'] as const;
type TargetType = (typeof TARGET_TYPES)[number];

export interface PolicyTarget {
  readonly type: TargetType;
  readonly id: string;
}

export interface PolicyStep {
  readonly targets: readonly PolicyTarget[];
  /** Wait before the next step. */
  readonly delay_minutes: number;
  /** Notifies people by their rules for important pages. */
  readonly important: boolean;
}

export interface PolicyFields {
  readonly name: string;
  readonly steps: readonly PolicyStep[];
  /** Additional runs of the steps. */
  readonly repeats: number;
  /** Time from the end of the policy, after the delay of its last step, until the steps start again; 0 means never. */
  readonly reminder_hours: number;
  /** Time from the acknowledgement until an open page starts again; 0 means never. */
  readonly ack_timeout_minutes: number;
}

/** An escalation policy: the order in which people are paged. */
export interface Policy extends PolicyFields {
  readonly id: string;
  readonly project_id: string;
}

/** Names of the policies that use a target. A target in use cannot be deleted. */
export async function policiesUsing(
  records: Records<EscalationPolicy>,
  projectId: string,
  target: PolicyTarget,
): Promise<readonly string[]> {
  const isTarget = ({ type, id }: PolicyTarget) => type === target.type && id === target.id;
  return (await listPolicies(records, projectId))
    .filter(({ steps }) => steps.some(({ targets }) => targets.some(isTarget)))
    .map(({ name }) => name);
}

interface PoliciesDependencies {
  readonly records: Records<EscalationPolicy>;
  readonly clock: Clock;
  readonly locks: Locks;
  /** Checks that a project has a target, by its type. */
  readonly hasTarget: Readonly<Record<TargetType, (projectId: string, id: string) => Promise<boolean>>>;
  /** Names of the routes that use a policy. */
  readonly routesUsing: (projectId: string, policyId: string) => Promise<readonly string[]>;
  /** Counts the pages of a policy that are not closed. */
  readonly countOpenPages: (projectId: string, policyId: string) => Promise<number>;
}

/** The escalation policies of projects. */
export class Policies {
  readonly #records: Records<EscalationPolicy>;
  readonly #clock: Clock;
  readonly #locks: Locks;
  readonly #hasTarget: PoliciesDependencies['hasTarget'];
  readonly #routesUsing: PoliciesDependencies['routesUsing'];
  readonly #countOpenPages: PoliciesDependencies['countOpenPages'];

  constructor({ records, clock, locks, hasTarget, routesUsing, countOpenPages }: PoliciesDependencies) {
    this.#records = records;
    this.#clock = clock;
    this.#locks = locks;
    this.#hasTarget = hasTarget;
    this.#routesUsing = routesUsing;
    this.#countOpenPages = countOpenPages;
  }

  /** Sorted by name. */
  list(projectId: string): Promise<Policy[]> {
    return listPolicies(this.#records, projectId);
  }

  /** The schedules that policies of any project use, each once. */
  async scheduleTargets(): Promise<readonly { readonly projectId: string; readonly scheduleId: string }[]> {
    const rows = await this.#records.find(sql`deleted_ms = 0`, 'project_id, id', ALL_POLICIES_MAX);
    const found = new Map<string, { projectId: string; scheduleId: string }>();
    for (const { project_id: projectId, steps } of rows.map(policyOf)) {
      for (const { type, id: scheduleId } of steps.flatMap(({ targets }) => targets))
        if (type === 'schedule') found.set(scheduleId, { projectId, scheduleId });
    }
    return [...found.values()];
  }

  async find(projectId: string, id: string): Promise<Policy | null> {
    const row = await this.#records.get(id);
    return row !== null && row.project_id === projectId && row.deleted_ms === 0 ? policyOf(row) : null;
  }

  /** The existing policies among some ids, by id. */
  async findAll(projectId: string, ids: readonly string[]): Promise<ReadonlyMap<string, Policy>> {
    const found = await Promise.all([...new Set(ids)].map((id) => this.find(projectId, id)));
    return new Map(found.flatMap((policy) => (policy === null ? [] : [[policy.id, policy]])));
  }

  async get(projectId: string, id: string): Promise<Policy> {
    const policy = await this.find(projectId, id);
    if (policy === null) throw policyNotFound();
    return policy;
  }

  create(projectId: string, author: string, input: PolicyFields): Promise<Policy> {
    return this.#withLock(projectId, async (policies) => {
      if (policies.length >= POLICIES_PER_PROJECT) {
        throw new RequestRefused(
          'conflict',
          `A project can have up to ${POLICIES_PER_PROJECT} escalation policies. Delete one first.`,
        );
      }
      const fields = validFields(input);
      requireFreeName(fields.name, policies);
      await this.#requireTargets(projectId, fields.steps);
      const row = {
        ...columnsOf(fields),
        id: newLocator(),
        expires_ms: 0,
        project_id: projectId,
        author_id: author,
        created_ms: this.#clock.now(),
        deleted_ms: 0,
      };
      await this.#records.add(row);
      return policyOf(row);
    });
  }

  change(projectId: string, id: string, author: string, changes: Partial<PolicyFields>): Promise<Policy> {
    return this.#withLock(projectId, async (policies) => {
      const before = policies.find((policy) => policy.id === id);
      if (before === undefined) throw policyNotFound();
      const fields = validFields({ ...before, ...changes });
      requireFreeName(
        fields.name,
        policies.filter((policy) => policy !== before),
      );
      if (changes.steps !== undefined) await this.#requireTargets(projectId, fields.steps);
      return this.#records.change(id, (row) => {
        const next = { ...(row as EscalationPolicy), ...columnsOf(fields), author_id: author };
        return { next, result: policyOf(next) };
      });
    });
  }

  delete(projectId: string, id: string, author: string): Promise<void> {
    return this.#withLock(projectId, async (policies) => {
      const policy = policies.find((policy) => policy.id === id);
      if (policy === undefined) throw policyNotFound();
      const routes = await this.#routesUsing(projectId, id);
      if (routes.length > 0) {
        throw new RequestRefused(
          'conflict',
          `Routes lead to ${policy.name}: ${routes.join(', ')}. Give them another policy first.`,
        );
      }
      const pages = await this.#countOpenPages(projectId, id);
      if (pages > 0) {
        throw new RequestRefused(
          'conflict',
          `${policy.name} still pages ${pages} alert${pages === 1 ? '' : 's'}. Delete it after they are resolved.`,
        );
      }
      await this.#records.change(id, (row) => ({
        next: { ...(row as EscalationPolicy), author_id: author, deleted_ms: this.#clock.now() },
        result: undefined,
      }));
    });
  }

  /** The lock enforces unique names and the limit. Routes share it, so no route can choose a policy that is being deleted. */
  #withLock<T>(projectId: string, work: (policies: readonly Policy[]) => Promise<T>): Promise<T> {
    return this.#locks.run(escalationLock(projectId), async () => work(await this.list(projectId)));
  }

  async #requireTargets(projectId: string, steps: readonly PolicyStep[]): Promise<void> {
    const targets = steps.flatMap((step, i) => step.targets.map((target) => ({ target, i })));
    await Promise.all(
      targets.map(async ({ target: { type, id }, i }) => {
        if (!(await this.#hasTarget[type](projectId, id)))
          throw new RequestRefused('bad_request', MISSING_TARGET[type], `steps.${i}.targets`);
      }),
    );
  }
}

export const escalationLock = (projectId: string): string => `escalation/${projectId}`;

const MISSING_TARGET: Readonly<Record<TargetType, string>> = {
  schedule: 'The project has no schedule with this id. Choose another one.',
  user: 'No member with at least the Developer role has this id. Choose another one.',
  channel: 'The project has no channel with this id. Choose another one.',
};

const policyNotFound = () => new RequestRefused('not_found', 'Escalation Policy Not Found');

async function listPolicies(records: Records<EscalationPolicy>, projectId: string): Promise<Policy[]> {
  const rows = await records.find(
    sql`project_id = ${projectId} AND deleted_ms = 0`,
    'lowerUTF8(name), id',
    POLICIES_PER_PROJECT,
  );
  return rows.map(policyOf);
}

const columnsOf = ({ name, steps, ...numbers }: PolicyFields) => ({
  name,
  steps: JSON.stringify(steps),
  repeats: numbers.repeats,
  reminder_hours: numbers.reminder_hours,
  ack_timeout_minutes: numbers.ack_timeout_minutes,
});

const policyOf = (row: Omit<EscalationPolicy, 'version'>): Policy => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  steps: JSON.parse(row.steps) as PolicyStep[],
  repeats: row.repeats,
  reminder_hours: row.reminder_hours,
  ack_timeout_minutes: row.ack_timeout_minutes,
});

function validFields(input: PolicyFields): PolicyFields {
  const name = cleanLine(input.name);
  if (name === '') throw new RequestRefused('bad_request', 'Enter a name.', 'name');
  if (name.length > NAME_CHARACTERS_MAX)
    throw new RequestRefused('bad_request', `Enter at most ${NAME_CHARACTERS_MAX} characters.`, 'name');
  requireCount(input.steps, STEPS_MAX, 'step', 'steps');
  for (const [i, { targets, delay_minutes }] of input.steps.entries()) {
    const field = `steps.${i}.targets`;
    requireCount(targets, TARGETS_MAX, 'target', field);
    if (new Set(targets.map(({ type, id }) => `${type} ${id}`)).size < targets.length)
      throw new RequestRefused('bad_request', 'Enter each target of a step only once.', field);
    requireInRange(delay_minutes, 'delay_minutes', `steps.${i}.delay_minutes`);
  }
  for (const field of ['repeats', 'reminder_hours', 'ack_timeout_minutes'] as const)
    requireInRange(input[field], field, field);
  return { ...input, name };
}

function requireCount(list: readonly unknown[], max: number, noun: string, field: string): void {
  if (list.length === 0 || list.length > max)
    throw new RequestRefused('bad_request', `Enter 1 to ${max} ${noun}s.`, field);
}

function requireInRange(value: number, range: keyof typeof POLICY_RANGES, field: string): void {
  const { min, max } = POLICY_RANGES[range];
  if (!Number.isInteger(value) || value < min || value > max)
    throw new RequestRefused('bad_request', `Enter a whole number from ${min} to ${max}.`, field);
}

function requireFreeName(name: string, others: readonly Policy[]): void {
  if (others.some((other) => other.name === name))
    throw new RequestRefused('conflict', `Another policy has the name ${name}. Enter another one.`, 'name');
}
