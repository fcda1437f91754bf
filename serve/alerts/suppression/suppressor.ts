import { type MatchedAlert, matchLabelsOf } from '../../../aggregate/alerts/matchers/match-labels.ts';
import type { MatchLabels } from '../../../aggregate/alerts/matchers/matcher.ts';
import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';
import type { SilenceCache } from './silence-cache.ts';
import type { Windows } from './windows.ts';

/** Silences and windows that suppress an alert. */
export interface Suppression {
  /** Ids of silences. */
  readonly silencedBy: readonly string[];
  /** Ids of maintenance windows. */
  readonly mutedBy: readonly string[];
  /** The latest end among them, or the time to look again if that is earlier. 0 if nothing matches. */
  readonly until: number;
}

/** The fields of an alert that decide on its suppression. */
type SuppressibleAlert = MatchedAlert & Pick<Alert, 'iid' | 'integration'>;

interface SuppressorDependencies {
  readonly clock: Clock;
  readonly silences: SilenceCache;
  readonly windows: Pick<Windows, 'indexAt' | 'nextChange'>;
  readonly integrations: Pick<IntegrationCache, 'names'>;
}

/** Finds the silences and maintenance windows that suppress alerts. */
export class Suppressor {
  readonly #deps: SuppressorDependencies;

  constructor(dependencies: SuppressorDependencies) {
    this.#deps = dependencies;
  }

  /** The suppressions of alerts, by `iid`. Alerts that are not suppressed are absent. */
  async suppressions(
    projectId: string,
    alerts: readonly SuppressibleAlert[],
    now: number,
  ): Promise<ReadonlyMap<number, Suppression>> {
    if (alerts.length === 0) return new Map();
    const [suppressionOf, labelsOf] = await Promise.all([
      this.#matcherAt(projectId, now),
      this.labelReader(),
    ]);
    const suppressions = new Map<number, Suppression>();
    for (const alert of alerts) {
      const suppression = await suppressionOf(labelsOf(alert));
      if (suppression.until > 0) suppressions.set(alert.iid, suppression);
    }
    return suppressions;
  }

  async suppressionOf(projectId: string, labels: MatchLabels, now: number): Promise<Suppression> {
    return (await this.#matcherAt(projectId, now))(labels);
  }

  /** Ids of the silences and maintenance windows that suppress alerts now, by `iid`. */
  async suppressedBy(
    projectId: string,
    alerts: readonly SuppressibleAlert[],
  ): Promise<ReadonlyMap<number, readonly string[]>> {
    const suppressions = await this.suppressions(projectId, alerts, this.#deps.clock.now());
    return new Map(
      [...suppressions].map(([iid, { silencedBy, mutedBy }]) => [iid, [...silencedBy, ...mutedBy]]),
    );
  }

  /** The labels of an alert as matchers see them. */
  async labelsOf(alert: SuppressibleAlert): Promise<MatchLabels> {
    return (await this.labelReader())(alert);
  }

  /** Reads the labels of many alerts. */
  async labelReader(): Promise<(alert: SuppressibleAlert) => MatchLabels> {
    const names = await this.#deps.integrations.names();
    return (alert) => matchLabelsOf(alert, names.get(alert.integration) ?? '');
  }

  /** The next time to look again: a silence or window may begin or end then. Null if the project has none. */
  async nextChange(projectId: string, now: number): Promise<number | null> {
    const { silences, windows } = this.#deps;
    const changes = await Promise.all([
      silences.nextChange(projectId, now),
      windows.nextChange(projectId, now),
    ]);
    const times = changes.filter((at) => at !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  async #matcherAt(projectId: string, now: number): Promise<(labels: MatchLabels) => Promise<Suppression>> {
    const { silences, windows } = this.#deps;
    const [index, windowIndex] = await Promise.all([
      silences.indexOf(projectId),
      windows.indexAt(projectId, now),
    ]);
    return async (labels) => {
      const matching = (await index.matching(labels)).filter(
        ({ startsMs, endsMs }) => startsMs <= now && now < endsMs,
      );
      const muting = await windowIndex.matching(labels);
      return {
        silencedBy: matching.map(({ id }) => id).sort(),
        mutedBy: muting.map(({ id }) => id).sort(),
        until: Math.max(0, ...matching.map(({ endsMs }) => endsMs), ...muting.map(({ until }) => until)),
      };
    };
  }
}
