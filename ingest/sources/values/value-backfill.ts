import { ProductError } from '../../../infra/errors.ts';
import type { Feed, LoadPortion, SourceFault, SourceProgress } from '../feed.ts';
import type { ValueKind } from './adapter.ts';
import type { StoredDays, ValueFeed, ValueSeries } from './value-feed.ts';

/** Loads the missing days of one kind of value. Each feed loads only days that earlier feeds lack. */
export class ValueBackfill implements Feed {
  readonly unit = 'day';
  readonly kind: ValueKind;
  readonly feeds: readonly ValueFeed[];
  readonly faults: SourceFault[] = [];
  progress: SourceProgress | null = null;
  hasFailed = false;
  fetchedCount = 0;
  readonly #signal: AbortSignal;

  constructor(kind: ValueKind, feeds: readonly ValueFeed[], signal: AbortSignal) {
    this.kind = kind;
    this.feeds = feeds;
    this.#signal = signal;
  }

  /** Yields the lines to load, one answer at a time. */
  async *portions(stored: StoredDays): AsyncGenerator<LoadPortion> {
    try {
      for (const feed of this.feeds) yield* this.#from(feed, stored);
    } finally {
      this.progress = null;
    }
  }

  async *#from(feed: ValueFeed, stored: StoredDays): AsyncGenerator<LoadPortion> {
    const { adapter, series: all } = feed.plan;
    const missing: [ValueSeries, readonly number[]][] = [];
    for (const series of all) missing.push([series, await feed.missingDays(series, stored)]);
    const total = missing.reduce((sum, [, days]) => sum + days.length, 0);
    this.progress = { stage: 'fetching', source: adapter.name, began: performance.now(), done: 0, total };
    this.hasFailed = false;
    for (const [series, days] of missing) {
      try {
        yield* this.#series(feed, series, days);
      } catch (error) {
        if (this.#signal.aborted) return;
        if (!(error instanceof ProductError) || error.code.startsWith('store_')) throw error;
        this.faults.push({ source: `${adapter.name} ${series.id}`, error });
        this.hasFailed = true;
      }
    }
  }

  async *#series(feed: ValueFeed, series: ValueSeries, days: readonly number[]): AsyncGenerator<LoadPortion> {
    for await (const { source, lines, requested, found } of feed.lines(series, days)) {
      if (this.progress) this.progress.done += requested;
      this.fetchedCount += found;
      const bytes = lines.reduce((sum, line) => sum + line.length, 0);
      if (lines.length > 0) yield { name: source, lines, bytes };
    }
  }
}
