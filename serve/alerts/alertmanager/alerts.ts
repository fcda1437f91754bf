import { createHash } from 'node:crypto';
import { z } from 'zod';
import { matchesWhole, requireExpression } from '../../../aggregate/alerts/matchers/expression.ts';
import { MatcherError, type MatchLabels } from '../../../aggregate/alerts/matchers/matcher.ts';
import { compileMatchers } from '../../../aggregate/alerts/matchers/matcher-list.ts';
import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import { EventLoopYielder } from '../../../infra/event-loop-yielder.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { RequestRefused } from '../model/access.ts';
import type { AlertReader } from '../projects/alert-reader.ts';
import type { Suppression } from '../suppression/suppressor.ts';
import { filtersOf } from './filters.ts';
import { jsonArray } from './json-stream.ts';
import { type AlertmanagerScope, flag, texts } from './scope.ts';

/** Alertmanager's default `resolve_timeout`. Clients treat an alert with a past `endsAt` as resolved. */
const RESOLVE_TIMEOUT_MS = 5 * 60_000;

const alertQuery = z.object({
  filter: texts,
  active: flag,
  silenced: flag,
  receiver: z.string().max(4096).default(''),
});

type AlertParts = Pick<AlertDomain, 'alertRoutes' | 'policies' | 'suppressor' | 'reader'>;
type AlertmanagerAlert = ReturnType<typeof alertJson>;

/** The open alerts of a project in the format of Alertmanager's API. Receivers are its escalation policies. */
export function serveAlertmanagerAlerts(
  scope: AlertmanagerScope,
  domain: AlertParts,
  { clock, url }: { readonly clock: Clock; readonly url: () => string },
): void {
  const open = (projectId: string, reader: AlertReader, query: z.output<typeof alertQuery>) =>
    new OpenAlerts({ ...domain, reader, clock, url: url(), projectId, query });
  scope.add({ method: 'GET', path: '/receivers', role: 'Reporter' }, async ({ projectId }) =>
    (await domain.policies.list(projectId)).map(({ name }) => ({ name })),
  );
  scope.add(
    { method: 'GET', path: '/alerts', role: 'Developer', query: alertQuery },
    async ({ projectId, query, store }) =>
      jsonArray(open(projectId, domain.reader.withStore(store), query).inParts()),
  );
  scope.add(
    { method: 'GET', path: '/alerts/groups', role: 'Developer', query: alertQuery },
    async ({ projectId, query, store }) =>
      jsonArray(open(projectId, domain.reader.withStore(store), query).groups()),
  );
}

interface OpenAlertsDependencies extends AlertParts {
  readonly clock: Clock;
  readonly url: string;
  readonly projectId: string;
  readonly query: z.output<typeof alertQuery>;
}

/** The newest open alerts that match a query. */
class OpenAlerts {
  readonly #deps: OpenAlertsDependencies;
  readonly #matches: (labels: MatchLabels) => boolean;

  constructor(dependencies: OpenAlertsDependencies) {
    const { filter, receiver } = dependencies.query;
    this.#deps = dependencies;
    this.#matches = compileMatchers(filtersOf(filter));
    if (receiver !== '') requireReceiver(receiver);
  }

  async *inParts(): AsyncGenerator<readonly AlertmanagerAlert[]> {
    const { alertRoutes, clock, policies, projectId, query, suppressor, reader, url } = this.#deps;
    const [routes, list] = await Promise.all([alertRoutes.load(projectId), policies.list(projectId)]);
    const turn = new EventLoopYielder();
    const labelsOf = await suppressor.labelReader();
    const names = new Map(list.map(({ id, name }) => [id, name]));
    for await (const part of reader.openInParts(Number(projectId))) {
      const now = clock.now();
      const reasons = await suppressor.suppressions(projectId, part, now);
      const shown: AlertmanagerAlert[] = [];
      for (const alert of part) {
        await turn.yieldIfDue();
        const why = reasons.get(alert.iid);
        const labels = labelsOf(alert);
        if (!(why === undefined ? query.active : query.silenced) || !this.#matches(labels)) continue;
        const targets = await routes.targetsOf(labels);
        const receivers = targets.flatMap(({ policyId }) => names.get(policyId) ?? []);
        if (!this.#isFor(receivers)) continue;
        shown.push(alertJson(alert, { labels, why, receivers, now, url }));
      }
      yield shown;
    }
  }

  /** One group for each policy, and a group without a name for alerts that page nobody. */
  async *groups(): AsyncGenerator<readonly object[]> {
    const byReceiver = new Map<string, AlertmanagerAlert[]>();
    for await (const part of this.inParts()) {
      for (const alert of part) {
        const receivers = alert.receivers.length === 0 ? [{ name: '' }] : alert.receivers;
        for (const { name } of receivers) {
          const group = byReceiver.get(name) ?? [];
          if (group.length === 0) byReceiver.set(name, group);
          group.push(alert);
        }
      }
    }
    for (const [name, alerts] of [...byReceiver].sort(([a], [b]) => (a < b ? -1 : 1)))
      yield [{ labels: {}, receiver: { name }, alerts }];
  }

  #isFor(receivers: readonly string[]): boolean {
    const { receiver } = this.#deps.query;
    return receiver === '' || receivers.some((name) => matchesWhole(receiver, name));
  }
}

function requireReceiver(expression: string): void {
  try {
    requireExpression(expression);
  } catch (error) {
    if (error instanceof MatcherError) throw new RequestRefused('bad_request', error.message, 'receiver');
    throw error;
  }
}

interface AlertContext {
  readonly labels: MatchLabels;
  readonly why: Suppression | undefined;
  readonly receivers: readonly string[];
  readonly now: number;
  readonly url: string;
}

function alertJson(alert: Alert, { labels, why, receivers, now, url }: AlertContext) {
  const { project, iid, title, description, runbook } = alert;
  const annotations = { summary: title, description, runbook_url: runbook };
  return {
    labels: withValues(labels.values),
    annotations: withValues(Object.entries(annotations)),
    receivers: receivers.map((name) => ({ name })),
    startsAt: new Date(alert.started_ms).toISOString(),
    endsAt: new Date(now + RESOLVE_TIMEOUT_MS).toISOString(),
    updatedAt: new Date(alert.updated_ms).toISOString(),
    generatorURL: `${url}/projects/${project}/alerts/${iid}`,
    fingerprint: createHash('sha256').update(`${project}/${iid}`).digest('hex').slice(0, 16),
    status: {
      state: why === undefined ? 'active' : 'suppressed',
      silencedBy: why?.silencedBy ?? [],
      mutedBy: why?.mutedBy ?? [],
      inhibitedBy: [],
    },
  };
}

const withValues = (entries: Iterable<readonly [string, string]>): Record<string, string> =>
  Object.fromEntries([...entries].filter(([, value]) => value !== ''));
