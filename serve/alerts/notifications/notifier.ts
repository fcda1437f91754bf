import type { ConsumerProgress } from '../events/consumer-progress.ts';
import type { EventConsumer } from '../events/event-consumers.ts';
import type { NotifiedChange, StoredAlertChange } from '../events/event-history.ts';
import type { Outbox } from '../events/outbox.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';

interface NotifierDependencies {
  readonly cache: IntegrationCache;
  readonly progress: ConsumerProgress;
  readonly outbox: Outbox;
}

/** Adds a notification of each change for every webhook and on-call link that subscribes to it. */
export class Notifier implements EventConsumer {
  readonly name = 'notifications';
  readonly #deps: NotifierDependencies;

  constructor(dependencies: NotifierDependencies) {
    this.#deps = dependencies;
  }

  async apply(project: number, changes: readonly StoredAlertChange[]): Promise<boolean> {
    const { cache, progress, outbox } = this.#deps;
    const targets = await cache.targetsOf(project);
    if (targets.length === 0) return true;
    // A target receives only events after its activation.
    const positions = new Map(
      (await progress.list(project)).map(({ target, position }) => [target, position]),
    );
    const told = new Map<string, readonly NotifiedChange[]>();
    for (const { id, events } of targets) {
      const from = positions.get(id) ?? 0;
      const isOwn = (change: StoredAlertChange): change is NotifiedChange =>
        change.position > from && events.includes(change.name);
      const own = changes.filter(isOwn);
      if (own.length > 0) told.set(id, own);
    }
    await outbox.add(project, told);
    return true;
  }
}
