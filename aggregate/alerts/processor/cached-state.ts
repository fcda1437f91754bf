import { type Alert, isOpen } from '../model/alert.ts';
import { dropAlert, dropCounted, type ProjectState } from '../reducer/project-state.ts';

/** The state of a project, and the part of the store that it reflects. */
export interface CachedState {
  readonly state: ProjectState;
  /** All events up to this position are durable. */
  durablePosition: number;
  /** Position of the newest stored event when the state was loaded. */
  readonly loadedPosition: number;
  /** The last offset of each partition of the log up to `loadedPosition`. */
  readonly lastOffsets: ReadonlyMap<number, number>;
  /** Events that were accepted before this time may have been deleted. */
  readonly deletedBefore: number;
}

/** Size of a state without alerts and deliveries. */
const STATE_BYTES = 3000;
const ID_BYTES = 100;
/** Estimates the size of a state. */
export const bytesOf = ({ state: { bytes, ids } }: CachedState): number =>
  STATE_BYTES + ids.size * ID_BYTES + bytes;

/** Removes durable entries until a state has at most `bytesMax`: resolved alerts, deliveries, then unresolved alerts. */
export function shrink(cached: CachedState, bytesMax: number): void {
  const { state, durablePosition } = cached;
  const isFull = () => bytesOf(cached) > bytesMax;
  const dropAlerts = (isCandidate: (alert: Alert) => boolean) => {
    for (const alert of state.byIid.values()) {
      if (!isFull()) return;
      if (alert.position <= durablePosition && isCandidate(alert)) dropAlert(state, alert);
    }
  };
  dropAlerts((alert) => !isOpen(alert));
  for (const { byKey } of [state.counted, state.named]) {
    for (const [retryKey, delivery] of byKey) {
      // Deliveries are sorted by age: if this one is not durable, newer ones hardly are.
      if (!isFull() || delivery.position > durablePosition) break;
      dropCounted(state, retryKey, delivery);
    }
  }
  dropAlerts(() => true);
}
