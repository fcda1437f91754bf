import { Counter, Gauge } from 'prom-client';
import { LABELLED_CHAINS_MAX, type LabelledChain, OTHER_CHAINS } from '../chains/chain-labels.ts';
import type { Stream } from '../log/topics.ts';

const BY_CHAIN = ['relay_chain', 'chain'] as const;

/** Prometheus metrics of the sources. */
export const createSourceMetrics = () => ({
  messages: new Counter({
    name: 'chain_metrics_source_messages_total',
    help: 'Blocks and snapshots that this process has read from sources and published.',
    labelNames: ['stream'],
    registers: [],
  }),
  refusedLines: new Counter({
    name: 'chain_metrics_source_refused_lines_total',
    help: 'Lines of sources that became dead letters.',
    registers: [],
  }),
  up: new Gauge({
    name: 'chain_metrics_source_up',
    help: 'Whether the source of a chain that this process follows is reachable: 1 or 0.',
    labelNames: BY_CHAIN,
    registers: [],
  }),
  head: new Gauge({
    name: 'chain_metrics_source_head_height',
    help: 'Height of the newest finalized block of a followed source.',
    labelNames: BY_CHAIN,
    registers: [],
  }),
  lag: new Gauge({
    name: 'chain_metrics_source_lag_blocks',
    help: 'Finalized blocks of a followed source that are not published yet.',
    labelNames: BY_CHAIN,
    registers: [],
  }),
  errors: new Counter({
    name: 'chain_metrics_source_errors_total',
    help: 'Attempts to follow a source that failed.',
    labelNames: BY_CHAIN,
    registers: [],
  }),
});

export type SourceMetrics = ReturnType<typeof createSourceMetrics>;

/** Counts published messages and refused lines. */
export function countRead(
  { messages, refusedLines }: SourceMetrics,
  read: Readonly<Record<Stream, number>> & { readonly refused: number },
): void {
  messages.inc({ stream: 'blocks' }, read.blocks);
  messages.inc({ stream: 'snapshots' }, read.snapshots);
  refusedLines.inc(read.refused);
}

/** The metrics of one followed chain. */
export class FollowMetrics {
  readonly #metrics: SourceMetrics;
  readonly #labels: { relay_chain: string; chain: string };
  #head: number | undefined;
  #next: number | undefined;

  constructor(metrics: SourceMetrics, { relay_chain, chain }: LabelledChain, index: number) {
    this.#metrics = metrics;
    this.#labels = index < LABELLED_CHAINS_MAX ? { relay_chain, chain } : { ...OTHER_CHAINS };
  }

  /** The source answered with this finalized height. */
  recordHead(head: number): void {
    this.#head = head;
    this.#metrics.up.set(this.#labels, 1);
    this.#metrics.head.set(this.#labels, head);
    this.#showLag();
  }

  recordError(): void {
    this.#metrics.up.set(this.#labels, 0);
    this.#metrics.errors.inc(this.#labels);
  }

  /** All blocks below this height are published. */
  recordProgress(next: number): void {
    this.#next = next;
    this.#showLag();
  }

  /** Removes the metrics, because another process may follow the chain from now on. */
  clear(): void {
    for (const gauge of [this.#metrics.up, this.#metrics.head, this.#metrics.lag]) gauge.remove(this.#labels);
    this.#head = undefined;
    this.#next = undefined;
  }

  #showLag(): void {
    if (this.#head === undefined || this.#next === undefined) return;
    this.#metrics.lag.set(this.#labels, Math.max(0, this.#head + 1 - this.#next));
  }
}
