import { type Span, SpanKind } from '@opentelemetry/api';
import { failSpan, startSpan, withActiveSpan } from '../../infra/tracing/spans.ts';

/** The traces of a followed chain: each begins when the source is asked for blocks and leads to where these are ingested. */
export class FollowTrace {
  readonly #chain: string;
  #follow: Span | undefined;
  #fetch: Span | undefined;

  constructor(chain: string) {
    this.#chain = chain;
  }

  /** The source is asked from now on. What it had nothing for is no trace. */
  begin(): void {
    const attributes = { 'chain_metrics.chain': this.#chain };
    const follow = startSpan('follow chain', { causes: [], attributes });
    this.#follow = follow;
    this.#fetch = withActiveSpan(follow, () => startSpan('fetch blocks', { kind: SpanKind.CLIENT }));
  }

  /** Ingests what was fetched since. */
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
      // The source may have been asked for more meanwhile.
      this.begin();
    }
  }
}
