import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, KeyValue, Store } from '../../../infra/ports.ts';
import { Refusals, TOO_MANY_WATCHDOGS } from '../intake/refusals.ts';
import { Beats } from '../integrations/beats.ts';
import { HeartbeatStore } from '../integrations/heartbeat-store.ts';
import { Heartbeats } from '../integrations/heartbeats.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';

interface HeartbeatPartsDependencies {
  readonly store: Store;
  readonly keyValue: KeyValue;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly cache: IntegrationCache;
  readonly pipeline: AlertPipeline;
}

/** The parts of the alert domain that watch the sources of alerts. */
export interface HeartbeatParts {
  readonly beats: Beats;
  readonly heartbeats: Heartbeats;
  readonly refusals: Refusals;
}

export function openHeartbeats(dependencies: HeartbeatPartsDependencies): HeartbeatParts {
  const { clock } = dependencies;
  const store = new HeartbeatStore(dependencies.store);
  const refusals = new Refusals(dependencies);
  const onSetAside = (integration: string) => refusals.add(integration, TOO_MANY_WATCHDOGS);
  return {
    beats: new Beats({ clock, store, onSetAside }),
    heartbeats: new Heartbeats({ ...dependencies, store }),
    refusals,
  };
}
