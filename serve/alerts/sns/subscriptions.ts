import type { Agent } from 'node:https';
import { sha256 } from '../../../aggregate/alerts/formats/values.ts';
import { DAY_MS } from '../../../infra/days.ts';
import type { Clock, Queue } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import type { Records } from '../../stored-records/records.ts';
import { ProjectJobs, type ProjectTask } from '../events/project-jobs.ts';
import { retryDelayMs } from '../http-client/back-off.ts';
import { networkFault } from '../http-client/network-fault.ts';
import type { IntegrationSummary, SnsSubscription } from '../model/tables.ts';
import { amazonUrl, getFromAmazon } from './amazon.ts';

/** Amazon SNS deletes a subscription if nobody confirms it within 48 hours. */
const GIVE_UP_MS = 2 * DAY_MS;
const RETRY_MS_MAX = 10 * 60_000;
const REQUEST_MS_MAX = 10_000;
const CONCURRENCY = 4;

interface SubscriptionsDependencies {
  readonly records: Records<SnsSubscription>;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly agent: Agent;
}

/** Confirms the subscriptions of SNS topics to integrations, each as a job that a restart does not lose. */
export class SnsSubscriptions {
  readonly #deps: SubscriptionsDependencies;
  readonly #jobs: ProjectJobs;

  constructor(dependencies: SubscriptionsDependencies) {
    this.#deps = dependencies;
    const { queue } = dependencies;
    this.#jobs = new ProjectJobs({
      ...{ queue, name: 'sns-subscriptions', concurrency: CONCURRENCY, projectConcurrency: 1 },
    });
  }

  start(onFailure: (error: unknown) => void): void {
    const run = ({ name }: ProjectTask) => this.confirm(name);
    this.#jobs.start({ run, pendingTasks: () => this.#pendingTasks(), onFailure });
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  list({ id }: Pick<IntegrationSummary, 'id'>): Promise<SnsSubscription[]> {
    return this.#deps.records.find(sql`integration_id = ${id}`, 'topic');
  }

  /** Stores that a subscription is to be confirmed. */
  async add({ id, project_id }: IntegrationSummary, topic: string, subscribe_url: string): Promise<void> {
    const { records, clock } = this.#deps;
    const recordId = `${id}/${sha256(topic).slice(0, 32)}`;
    await records.change(recordId, (current) => {
      // A repeated request changes nothing. Another token means a new subscription.
      if (current?.subscribe_url === subscribe_url) return { result: undefined };
      const next = {
        ...{ id: recordId, expires_ms: 0, project_id, integration_id: id, topic },
        ...{ subscribe_url, state: 'pending', attempts: 0, next_ms: 0, fault: '' },
        created_ms: clock.now(),
      };
      return { next, result: undefined };
    });
    this.#jobs.wake([{ project: Number(project_id), name: recordId }]);
  }

  /** Tries to confirm a subscription. Returns the wait before the next try, or undefined when done. */
  async confirm(id: string): Promise<number | undefined> {
    const { records, clock, agent } = this.#deps;
    const current = await records.get(id);
    if (current === null || current.state !== 'pending') return undefined;
    const waitMs = current.next_ms - clock.now();
    if (waitMs > 0) return waitMs;
    const fault = await this.#request(current.subscribe_url, agent);
    return records.change(id, (row) => {
      if (row?.subscribe_url !== current.subscribe_url) return { result: 0 };
      const now = clock.now();
      const attempts = current.attempts + 1;
      if (fault === '') return { next: { ...row, state: 'confirmed', attempts, fault }, result: undefined };
      if (now - row.created_ms >= GIVE_UP_MS)
        return { next: { ...row, state: 'failed', attempts, fault }, result: undefined };
      const delayMs = retryDelayMs(attempts, RETRY_MS_MAX);
      return { next: { ...row, attempts, fault, next_ms: now + delayMs }, result: delayMs };
    });
  }

  /** The reason of the failure; '' if there is none. */
  async #request(subscribeUrl: string, agent: Agent): Promise<string> {
    const url = amazonUrl(subscribeUrl);
    if (url === null) return 'no URL of Amazon SNS';
    try {
      await getFromAmazon(url, agent);
      return '';
    } catch (error) {
      return networkFault(error, REQUEST_MS_MAX);
    }
  }

  async #pendingTasks(): Promise<ProjectTask[]> {
    const rows = await this.#deps.records.find(sql`state = 'pending'`, 'created_ms', 10_000);
    return rows.map(({ id, project_id }) => ({ project: Number(project_id), name: id }));
  }
}
