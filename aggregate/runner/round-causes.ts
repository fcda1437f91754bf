import { ignore } from '../../infra/ignore.ts';
import type { KeyValue, Runtime } from '../../infra/ports.ts';
import type { Traceparent } from '../../infra/tracing/tracer.ts';

const KEY = 'round-causes';
/** Of a round; further ones are left out. */
const CAUSES_MAX = 32;
/** A round that comes later is not linked to the load. */
const KEPT_MS = 3_600_000;

/**
 * The spans that requested the next round, of any process. The job cannot carry them, since requests with the same id
 * become one job.
 */
export class RoundCauses {
  readonly #keyValue: KeyValue;
  readonly #tracer: Runtime['tracer'];

  constructor({ keyValue, tracer }: Pick<Runtime, 'keyValue' | 'tracer'>) {
    this.#keyValue = keyValue;
    this.#tracer = tracer;
  }

  /** Notes the active span. A trace that is not whole stops no computation. */
  async note(): Promise<void> {
    const { active } = this.#tracer;
    if (active?.traceparent === undefined || !active.isRecording) return;
    await this.#add(active.traceparent);
  }

  /** Takes those of a round that begins. */
  async take(): Promise<readonly Traceparent[]> {
    if (!this.#tracer.isOn) return [];
    try {
      const causes = await this.#keyValue.members(KEY);
      for (const cause of causes) await this.#keyValue.leave(KEY, cause);
      return causes;
    } catch (error) {
      // A round without its causes is a trace of its own.
      return ignore('round.causes', [])(error);
    }
  }

  /** Gives them to the next attempt of a round. */
  async keep(causes: readonly Traceparent[]): Promise<void> {
    for (const cause of causes) await this.#add(cause);
  }

  async #add(cause: Traceparent): Promise<void> {
    await this.#keyValue.join(KEY, cause, KEPT_MS, CAUSES_MAX).catch(ignore('round.causes'));
  }
}
