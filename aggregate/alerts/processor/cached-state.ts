import { type Alert, isOpen } from '../model/alert.ts';
import { dropAlert, dropCounted, type ProjectState } from '../reducer/project-state.ts';

/** The state of a project, and how much of the store it stands for. */
export interface CachedState {
  readonly state: ProjectState;
  /** Position up to which everything is durable. */
  durablePosition: number;
  /** Position up to which the state was loaded, and the last offset of each partition up to it. */
  readonly loadedPosition: number;
  readonly lastOffsets: ReadonlyMap<number, number>;
  /** Events that were accepted before it may have been deleted after they were stored. */
  readonly deletedBefore: number;
}

/** Of a state without alerts and deliveries, and of the id of an event. */
const STATE_BYTES = 3000;
const ID_BYTES = 100;
/** About how many bytes a state takes. */
export const bytesOf = ({ state: { bytes, ids } }: CachedState): number =>
  STATE_BYTES + ids.size * ID_BYTES + bytes;

/** Removes what is durable until a state takes at most `bytesMax`: resolved alerts, deliveries, then the other alerts. */
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
      // The oldest come first: nothing after it is durable, but for what was counted again.
      if (!isFull() || delivery.position > durablePosition) break;
      dropCounted(state, retryKey, delivery);
    }
  }
  dropAlerts(() => true);
}
