import type { KeyValue, Runtime } from '../../infra/ports.ts';
import type { Traceparent } from '../../infra/tracing/tracer.ts';
import type { ComputeLane } from './lanes.ts';

/** Of a round; further ones are left out. */
const CAUSES_MAX = 32;
/** A round that comes later is not linked to the load. */
const KEPT_MS = 3_600_000;

/**
 * The spans, of whatever process, that requested the next round of a lane. A request joins the one that waits, so that
 * they are not part of the job.
 */
export class RoundCauses {
  readonly #keyValue: KeyValue;
  readonly #tracer: Runtime['tracer'];

  constructor({ keyValue, tracer }: Pick<Runtime, 'keyValue' | 'tracer'>) {
    this.#keyValue = keyValue;
    this.#tracer = tracer;
  }

  /** Notes the active span. A trace that is not whole stops no computation. */
  async note(lanes: readonly ComputeLane[]): Promise<void> {
    const { active } = this.#tracer;
    if (active?.traceparent === undefined || !active.isRecording) return;
    for (const lane of lanes) await this.#add(lane, active.traceparent);
  }

  /** Takes those of a round that begins. */
  async take(lane: ComputeLane): Promise<readonly Traceparent[]> {
    if (!this.#tracer.isOn) return [];
    try {
      const causes = await this.#keyValue.members(keyOf(lane));
      for (const cause of causes) await this.#keyValue.leave(keyOf(lane), cause);
      return causes;
    } catch {
      return [];
    }
  }

  /** Gives them to another round: to the next attempt, or to that of the other lane. */
  async keep(lane: ComputeLane, causes: readonly Traceparent[]): Promise<void> {
    for (const cause of causes) await this.#add(lane, cause);
  }

  async #add(lane: ComputeLane, cause: Traceparent): Promise<void> {
    await this.#keyValue.join(keyOf(lane), cause, KEPT_MS, CAUSES_MAX).catch(() => false);
  }
}

const keyOf = (lane: ComputeLane) => `round-causes/${lane}`;
