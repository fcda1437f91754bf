import { type Span, SpanKind } from '@opentelemetry/api';
import { failSpan, startSpan, withActiveSpan } from '../../infra/tracing/spans.ts';

/** Traces of a followed chain: from the request to the source until its blocks are ingested. */
export class FollowTrace {
  readonly #chain: string;
  #follow: Span | undefined;
  #fetch: Span | undefined;

  constructor(chain: string) {
    this.#chain = chain;
  }

  /** Starts a trace with the request to the source. Drops the last trace if it had no blocks. */
  begin(): void {
    const attributes = { 'chain_metrics.chain': this.#chain };
    const follow = startSpan('follow chain', { causes: [], attributes });
    this.#follow = follow;
    this.#fetch = withActiveSpan(follow, () => startSpan('fetch blocks', { kind: SpanKind.CLIENT }));
  }

  /** Calls `work`, which ingests the fetched blocks, within the trace. */
  async ingest<Result>(work: () => Promise<Result>): Promise<Result> {
    const follow = this.#follow;
    if (follow === undefined) return work();
    this.#fetch?.end();
    try {
      return await withActiveSpan(follow, work);
    } catch (error) {
      failSpan(follow, error);
      throw error;
    } finally {
      follow.end();
      // The follower may have requested more blocks already.
      this.begin();
    }
  }
}
