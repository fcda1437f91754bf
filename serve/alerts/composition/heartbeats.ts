import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, KeyValue, Store } from '../../../infra/ports.ts';
import type { ConsumerMetrics } from '../events/consumer-metrics.ts';
import { type Refusals, TOO_MANY_WATCHDOGS } from '../intake/refusals.ts';
import { BeatRecorder } from '../integrations/beat-recorder.ts';
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
  readonly refusals: Refusals;
  readonly metrics: Pick<ConsumerMetrics, 'heartbeats'>;
}

/** The parts of the alert domain that watch the sources of alerts. */
export interface HeartbeatParts {
  readonly beats: BeatRecorder;
  readonly heartbeats: Heartbeats;
}

export function openHeartbeats(dependencies: HeartbeatPartsDependencies): HeartbeatParts {
  const { clock, refusals } = dependencies;
  const store = new HeartbeatStore(dependencies.store);
  const onReject = (integration: string) => refusals.add(integration, TOO_MANY_WATCHDOGS);
  return {
    beats: new BeatRecorder({ clock, store, onReject }),
    heartbeats: new Heartbeats({ ...dependencies, store }),
  };
}
