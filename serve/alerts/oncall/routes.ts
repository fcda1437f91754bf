import { cleanLine } from '../../../aggregate/alerts/formats/values.ts';
import { MatchIndex } from '../../../aggregate/alerts/matchers/match-index.ts';
import type { Matcher, MatchLabels } from '../../../aggregate/alerts/matchers/matcher.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock } from '../../../infra/ports.ts';
import { HttpError } from '../../http/errors.ts';
import type { Records } from '../../stored-records/records.ts';
import { RequestRefused } from '../model/access.ts';
import type { AlertRouteList } from '../model/oncall-tables.ts';
import { escalationLock, type Policies } from './policies.ts';

/** The catch-all route, always the last one. */
const DEFAULT_ROUTE = 'default';
export const ROUTES_MAX = 100;
export const ROUTE_DELAY_SECONDS_MAX = 3600;
export const ROUTE_NAME_CHARACTERS_MAX = 255;

export interface AlertRoute {
  readonly name: string;
  /** An alert must match all of them. The default route has none. */
  readonly matchers: readonly Matcher[];
  /** '' for none: the route pages nobody. */
  readonly policy_id: string;
  /** Delay of the first step. An alert that resolves within the delay pages nobody. */
  readonly delay_seconds: number;
  /** Passes a matching alert on to the next routes, too. */
  readonly continues: boolean;
  readonly is_active: boolean;
}

/** A policy that pages for an alert. */
export interface RouteTarget {
  /** The name of the route. */
  readonly route: string;
  readonly policyId: string;
  readonly delaySeconds: number;
}

/** The routes of a project in their order. */
interface VersionedRoutes {
  readonly routes: readonly AlertRoute[];
  /** 0 until the routes are saved for the first time. */
  readonly version: number;
}

const NEW_LIST: readonly AlertRoute[] = [
  { name: DEFAULT_ROUTE, matchers: [], policy_id: '', delay_seconds: 0, continues: false, is_active: true },
];

/** The routes of a project at one moment, for a batch of alerts. */
export class ProjectRoutes {
  readonly #routes: readonly AlertRoute[];
  readonly #index: MatchIndex<AlertRoute>;

  constructor(routes: readonly AlertRoute[]) {
    this.#routes = routes.filter(({ is_active }) => is_active);
    const conditional = this.#routes.filter(({ matchers }) => matchers.length > 0);
    this.#index = new MatchIndex(conditional.map((route) => ({ matchers: route.matchers, item: route })));
  }

  /** Ids of all policies that the routes use. */
  get policies(): readonly string[] {
    return this.#routes.map(({ policy_id }) => policy_id).filter((id) => id !== '');
  }

  /**
   * The routes that take an alert, in order. `isCut` is ignored here: otherwise a matcher on an absent label would fail,
   * and the alert would miss its route.
   */
  async routesFor({ values }: MatchLabels): Promise<readonly AlertRoute[]> {
    const matching = new Set(await this.#index.matching({ values, isCut: false }));
    const candidates = this.#routes.filter((route) => route.matchers.length === 0 || matching.has(route));
    const last = candidates.findIndex(({ continues }) => !continues);
    return last < 0 ? candidates : candidates.slice(0, last + 1);
  }

  /** One target for each policy that an alert uses, with the first route that leads to the policy. */
  async targetsOf(labels: MatchLabels): Promise<readonly RouteTarget[]> {
    const targets = new Map<string, RouteTarget>();
    for (const { name, policy_id, delay_seconds } of await this.routesFor(labels)) {
      if (policy_id === '' || targets.has(policy_id)) continue;
      targets.set(policy_id, { route: name, policyId: policy_id, delaySeconds: delay_seconds });
    }
    return [...targets.values()];
  }
}

interface RoutesDependencies {
  readonly records: Records<AlertRouteList>;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly policies: Pick<Policies, 'list'>;
  /** True if an external on-call tool receives all alerts of a project. */
  readonly isForwarding: (projectId: string) => Promise<boolean>;
  /** Applies earlier events under the old routes first. */
  readonly beforeChange: (projectId: string) => Promise<void>;
}

/** The routes of projects: they choose the policies of an alert. */
export class Routes {
  readonly #deps: RoutesDependencies;

  constructor(dependencies: RoutesDependencies) {
    this.#deps = dependencies;
  }

  async get(projectId: string): Promise<VersionedRoutes> {
    const row = await this.#deps.records.get(projectId);
    if (row === null) return { routes: NEW_LIST, version: 0 };
    return { routes: JSON.parse(row.routes) as AlertRoute[], version: row.version };
  }

  /** The routes that apply: none while an external on-call tool receives the alerts. */
  async load(projectId: string): Promise<ProjectRoutes> {
    const [{ routes }, isApplied] = await Promise.all([this.get(projectId), this.isApplied(projectId)]);
    return new ProjectRoutes(isApplied ? routes : []);
  }

  /** False while an external on-call tool receives the alerts. */
  async isApplied(projectId: string): Promise<boolean> {
    return !(await this.#deps.isForwarding(projectId));
  }

  /** Names of the routes that use a policy. */
  async namesUsing(projectId: string, policyId: string): Promise<readonly string[]> {
    const { routes } = await this.get(projectId);
    return routes.filter(({ policy_id }) => policy_id === policyId).map(({ name }) => name);
  }

  /** Replaces the list. With `ifMatch`, fails if the list has another version. */
  put(
    projectId: string,
    input: readonly AlertRoute[],
    author: string,
    ifMatch: number | null,
  ): Promise<VersionedRoutes> {
    const { records, clock, locks, policies, beforeChange } = this.#deps;
    return locks.run(escalationLock(projectId), async () => {
      const routes = input.map((route) => ({ ...route, name: cleanLine(route.name) }));
      const ids = new Set((await policies.list(projectId)).map(({ id }) => id));
      requireValid(routes, ids);
      await beforeChange(projectId);
      return records.change(projectId, (row) => {
        const version = row?.version ?? 0;
        if (ifMatch !== null && ifMatch !== version) throw outdated();
        const next = {
          id: projectId,
          expires_ms: 0,
          routes: JSON.stringify(routes),
          author_id: author,
          created_ms: row?.created_ms ?? clock.now(),
        };
        return { next, result: { routes, version: version + 1 } };
      });
    });
  }
}

function requireValid(routes: readonly AlertRoute[], policyIds: ReadonlySet<string>): void {
  if (routes.length > ROUTES_MAX)
    throw new RequestRefused('bad_request', `A project can have up to ${ROUTES_MAX} routes.`, 'routes');
  if (routes.at(-1)?.name !== DEFAULT_ROUTE) {
    const text = `The last route is ${DEFAULT_ROUTE}, which takes what no other route takes. Add it at the end.`;
    throw new RequestRefused('bad_request', text, 'routes');
  }
  const names = new Set<string>();
  for (const [i, route] of routes.entries()) {
    const [field, fault] = faultOf(route, i === routes.length - 1, names, policyIds) ?? [];
    if (fault !== undefined)
      throw new RequestRefused('bad_request', `Route ${route.name || i + 1}: ${fault}`, `${i}.${field}`);
    names.add(route.name);
  }
}

/** The field of the API at fault and what to do; null for a valid route. */
function faultOf(
  { name, matchers, policy_id, delay_seconds, continues, is_active }: AlertRoute,
  isLast: boolean,
  earlierNames: ReadonlySet<string>,
  policyIds: ReadonlySet<string>,
): readonly [string, string] | null {
  if (name === '') return ['name', 'Enter a name.'];
  if (name.length > ROUTE_NAME_CHARACTERS_MAX)
    return ['name', `Enter at most ${ROUTE_NAME_CHARACTERS_MAX} characters.`];
  if (name === DEFAULT_ROUTE && !isLast) return ['name', 'Only the last route has this name. Enter another.'];
  if (earlierNames.has(name)) return ['name', 'An earlier route has this name. Enter another.'];
  if (isLast && matchers.length > 0)
    return ['matchers', 'The last route takes every alert. Leave its matchers out.'];
  if (!isLast && matchers.length === 0)
    return ['matchers', 'Enter at least one matcher, such as severity="critical".'];
  if (policy_id !== '' && !policyIds.has(policy_id))
    return ['policy_id', 'The project has no escalation policy with this id. Choose another one.'];
  if (!Number.isInteger(delay_seconds) || delay_seconds < 0 || delay_seconds > ROUTE_DELAY_SECONDS_MAX)
    return ['delay_seconds', `Enter a whole number from 0 to ${ROUTE_DELAY_SECONDS_MAX}.`];
  if (isLast && continues) return ['continues', 'No route follows the last one. Set it to false.'];
  if (isLast && !is_active)
    return ['active', 'The last route is always active. Without a policy it pages nobody.'];
  return null;
}

const outdated = () =>
  new HttpError(
    'precondition_failed',
    'The routes were changed since you read them. Read them again and repeat your change.',
  );
