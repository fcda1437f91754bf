import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock } from '../../../infra/ports.ts';
import { HttpError } from '../../http/errors.ts';
import type { Records } from '../../stored-records/records.ts';
import { RequestRefused } from '../model/access.ts';
import type { AlertRouteList } from '../model/oncall-tables.ts';
import { escalationLock, type Policies } from './policies.ts';

/** The catch-all route, always the last one. */
const DEFAULT_ROUTE = 'default';
export const ROUTE_DELAY_SECONDS_MAX = 3600;

export interface AlertRoute {
  readonly name: string;
  /** '' for none: nobody is paged. */
  readonly policy_id: string;
  /** How long an alert waits before it pages, so that one that resolves by itself pages nobody. */
  readonly delay_seconds: number;
}

/** The routes of a project in their order. */
interface VersionedRoutes {
  readonly routes: readonly AlertRoute[];
  /** 0 until they are saved for the first time. */
  readonly version: number;
}

interface RoutesDependencies {
  readonly records: Records<AlertRouteList>;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly policies: Pick<Policies, 'find'>;
  /** Whether all alerts of a project are forwarded to an external on-call tool. */
  readonly isForwarding: (projectId: string) => Promise<boolean>;
  /** Applies earlier events under the old routes first. */
  readonly beforeChange: (projectId: string) => Promise<void>;
}

/** The routes of projects, which lead from alerts to policies. */
export class Routes {
  readonly #records: Records<AlertRouteList>;
  readonly #clock: Clock;
  readonly #locks: Locks;
  readonly #policies: RoutesDependencies['policies'];
  readonly #isForwarding: RoutesDependencies['isForwarding'];
  readonly #beforeChange: RoutesDependencies['beforeChange'];

  constructor({ records, clock, locks, policies, isForwarding, beforeChange }: RoutesDependencies) {
    this.#records = records;
    this.#clock = clock;
    this.#locks = locks;
    this.#policies = policies;
    this.#isForwarding = isForwarding;
    this.#beforeChange = beforeChange;
  }

  async get(projectId: string): Promise<VersionedRoutes> {
    const row = await this.#records.get(projectId);
    if (row === null)
      return { routes: [{ name: DEFAULT_ROUTE, policy_id: '', delay_seconds: 0 }], version: 0 };
    return { routes: JSON.parse(row.routes) as AlertRoute[], version: row.version };
  }

  /** The policy of new alerts; null if they page nobody. */
  async policyOf(projectId: string): Promise<{ policyId: string; delaySeconds: number } | null> {
    const { routes } = await this.get(projectId);
    const { policy_id = '', delay_seconds = 0 } = routes.at(-1) ?? {};
    if (policy_id === '' || !(await this.isApplied(projectId))) return null;
    return { policyId: policy_id, delaySeconds: delay_seconds };
  }

  /** Routes are kept and not applied while an external on-call tool gets the alerts. */
  async isApplied(projectId: string): Promise<boolean> {
    return !(await this.#isForwarding(projectId));
  }

  /** Names of the routes that lead to a policy. */
  async namesTo(projectId: string, policyId: string): Promise<readonly string[]> {
    const { routes } = await this.get(projectId);
    return routes.filter(({ policy_id }) => policy_id === policyId).map(({ name }) => name);
  }

  /** Replaces the list. With `ifMatch`, only the list of that version. */
  put(
    projectId: string,
    routes: readonly AlertRoute[],
    author: string,
    ifMatch: number | null,
  ): Promise<VersionedRoutes> {
    return this.#locks.run(escalationLock(projectId), async () => {
      await this.#requireValid(projectId, routes);
      await this.#beforeChange(projectId);
      return this.#records.change(projectId, (row) => {
        const version = row?.version ?? 0;
        if (ifMatch !== null && ifMatch !== version) throw outdated();
        const next = {
          id: projectId,
          expires_ms: 0,
          routes: JSON.stringify(routes),
          author_id: author,
          created_ms: row?.created_ms ?? this.#clock.now(),
        };
        return { next, result: { routes, version: version + 1 } };
      });
    });
  }

  async #requireValid(projectId: string, routes: readonly AlertRoute[]): Promise<void> {
    const [route] = routes;
    if (route === undefined || routes.length > 1 || route.name !== DEFAULT_ROUTE) {
      throw new RequestRefused(
        'bad_request',
        `The list has exactly one route, ${DEFAULT_ROUTE}, which takes each alert. Send that one only.`,
        'routes',
      );
    }
    const { policy_id, delay_seconds } = route;
    if (!Number.isInteger(delay_seconds) || delay_seconds < 0 || delay_seconds > ROUTE_DELAY_SECONDS_MAX) {
      const text = `Enter a whole number from 0 to ${ROUTE_DELAY_SECONDS_MAX}.`;
      throw new RequestRefused('bad_request', text, '0.delay_seconds');
    }
    if (policy_id !== '' && (await this.#policies.find(projectId, policy_id)) === null)
      throw new RequestRefused('bad_request', 'The project has no such escalation policy.', '0.policy_id');
  }
}

const outdated = () =>
  new HttpError(
    'precondition_failed',
    'The routes were changed since you read them. Read them again and repeat your change.',
  );
