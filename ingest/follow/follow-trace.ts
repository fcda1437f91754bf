import type { Span, Tracer } from '../../infra/tracing/tracer.ts';

/** The traces of a followed chain: each begins when the source is asked for blocks and leads to where these are ingested. */
export class FollowTrace {
  readonly #tracer: Tracer;
  readonly #chain: string;
  #follow: Span | undefined;
  #fetch: Span | undefined;

  constructor(tracer: Tracer, chain: string) {
    this.#tracer = tracer;
    this.#chain = chain;
  }

  /** The source is asked from now on. What it had nothing for is no trace. */
  begin(): void {
    if (!this.#tracer.isOn) return;
    const attributes = { 'chain_metrics.chain': this.#chain };
    const follow = this.#tracer.start('follow chain', { causes: [], attributes });
    this.#follow = follow;
    this.#fetch = this.#tracer.within(follow, () => this.#tracer.start('fetch blocks', { kind: 'client' }));
  }

  /** Ingests what was fetched since. */
  async ingest<Result>(work: () => Promise<Result>): Promise<Result> {
    const follow = this.#follow;
    if (follow === undefined) return work();
    this.#fetch?.end();
    try {
      return await this.#tracer.within(follow, work);
    } catch (error) {
      follow.fail(error);
      throw error;
    } finally {
      follow.end();
      // The source may have been asked for more meanwhile.
      this.begin();
    }
  }
}
