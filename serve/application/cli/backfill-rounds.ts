import { Readable } from 'node:stream';
import type { FailedMetric } from '../../../aggregate/runner/failures.ts';
import { reasonOf } from '../../../infra/errors.ts';
import { markHandled } from '../../../infra/ignore.ts';
import type { Feed, LoadPortion, SourceProgress } from '../../../ingest/sources/feed.ts';
import type { OperationClient } from '../operations/client.ts';
import type { IngestReport } from '../operations/ingest.ts';
import { withComputePaused } from '../operations/pause-compute.ts';
import type { Display, ProgressStep } from './display.ts';
import { formatBytes, formatNumber, plural } from './format.ts';
import { showComputation } from './ingest-inputs.ts';
import type { Displays } from './several-displays.ts';

/** A long backfill computes metrics after this many blocks or this time, so that they appear while it runs. */
const ROUND_BLOCKS = 50_000;
const ROUND_MS_MAX = 600_000;
const REFRESH_MS = 200;

/** The name of the display of the computation. */
export const METRICS = 'metrics';

interface RoundsWork {
  readonly client: OperationClient;
  readonly loads: readonly FeedLoad[];
  readonly displays: Displays;
  readonly stop: AbortSignal;
}

/** Loads all feeds in parallel and computes metrics after each round. Returns the failed metrics; null if it was stopped. */
export async function loadInRounds(work: RoundsWork): Promise<readonly FailedMetric[] | null> {
  const { client, loads, displays, stop } = work;
  let failed: readonly FailedMetric[] = [];
  const refresh = setInterval(() => {
    for (const load of loads) load.show();
  }, REFRESH_MS);
  try {
    do {
      const round = new Round();
      await withComputePaused(client, () => runAll(loads, round));
      if (stop.aborted) return null;
      failed = await showComputation(client, displays.of(METRICS));
    } while (loads.some(({ isDone }) => !isDone));
    return failed;
  } finally {
    clearInterval(refresh);
  }
}

/** Loads all feeds in parallel without pausing the computation of metrics. */
export async function loadWithoutPause({ loads, stop }: Pick<RoundsWork, 'loads' | 'stop'>): Promise<void> {
  const refresh = setInterval(() => {
    for (const load of loads) load.show();
  }, REFRESH_MS);
  try {
    while (!stop.aborted && loads.some(({ isDone }) => !isDone)) await runAll(loads, new Round());
  } finally {
    clearInterval(refresh);
  }
}

/** If a feed fails, the store has failed: the others finish their portion, and the error is thrown. */
async function runAll(loads: readonly FeedLoad[], round: Round): Promise<void> {
  const results = await Promise.allSettled(
    loads.map((load) =>
      load.run(round).catch((error) => {
        round.end();
        throw error;
      }),
    ),
  );
  round.end();
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** Ends after ROUND_BLOCKS blocks of all chains, or after ROUND_MS_MAX. */
class Round {
  readonly over: Promise<typeof OVER>;
  readonly end: () => void;
  isOver = false;
  readonly #timer: NodeJS.Timeout;
  #blocks = 0;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<typeof OVER>();
    this.over = promise;
    this.end = () => {
      this.isOver = true;
      clearTimeout(this.#timer);
      resolve(OVER);
    };
    this.#timer = setTimeout(this.end, ROUND_MS_MAX);
  }

  addBlocks(blocks: number): void {
    this.#blocks += blocks;
    if (this.#blocks >= ROUND_BLOCKS) this.end();
  }
}

const OVER = Symbol('over');

interface LoadOptions {
  readonly client: OperationClient;
  readonly display: Display;
  readonly portions: AsyncGenerator<LoadPortion>;
  /** The chain of bare blocks. */
  readonly chain?: string;
  /** Whether the display shows why the feed failed. The failure of a single feed is the error of the command. */
  readonly showsFailure: boolean;
}

/** Loads one feed. */
export class FeedLoad {
  readonly feed: Feed;
  isDone = false;
  refused = 0;
  readonly #options: LoadOptions;
  /** The next portion, if it was requested in an earlier round that ended first. */
  #next: Promise<IteratorResult<LoadPortion>> | undefined;

  constructor(feed: Feed, options: LoadOptions) {
    this.feed = feed;
    this.#options = options;
  }

  async run(round: Round): Promise<void> {
    while (!this.isDone && !round.isOver) {
      this.#next ??= markHandled(this.#options.portions.next());
      const next = await Promise.race([this.#next, round.over]);
      if (next === OVER) return;
      this.#next = undefined;
      if (next.done) return this.#end();
      round.addBlocks(await this.#load(next.value));
    }
  }

  show(): void {
    const { progress } = this.feed;
    if (progress) this.#options.display.show(progress.stage, stepOf(progress, this.feed));
  }

  async #load({ name, lines, firstLine }: LoadPortion): Promise<number> {
    const { client, chain } = this.#options;
    const input = {
      name,
      ...(chain === undefined ? {} : { chain }),
      ...(firstLine === undefined ? {} : { firstLine }),
    };
    // In object mode, because a stream of bytes would concatenate the lines.
    const body = Readable.from(lines);
    const report: IngestReport = await client.call('ingest', input, { body });
    this.refused += report.refused_lines + report.refused_facts;
    return report.blocks;
  }

  #end(): void {
    this.isDone = true;
    const { faults, fetchedCount, unit, hasFailed } = this.feed;
    const { display, showsFailure } = this.#options;
    if (!hasFailed) display.complete(plural(fetchedCount, unit));
    else if (showsFailure) display.show('failed', { done: null, words: reasonOf(faults.at(-1)?.error) });
  }
}

function stepOf(
  { stage, source, began, done: part, total }: SourceProgress,
  { fetchedCount, unit }: Feed,
): ProgressStep {
  if (stage === 'connecting') return { done: null, words: source };
  const seconds = Math.max(0.001, (performance.now() - began) / 1000);
  const done = total === null ? null : total === 0 ? 1 : Math.min(1, part / total);
  const secondsLeft = done === null || done === 0 ? undefined : (seconds / done) * (1 - done);
  const words =
    stage === 'fetching'
      ? [`${formatNumber(part)} of ${plural(total ?? 0, unit)}`, `${formatNumber(part / seconds)} ${unit}s/s`]
      : [
          `${formatBytes(part)}${total === null ? '' : ` of ${formatBytes(total)}`} of ${source}`,
          plural(fetchedCount, unit),
        ];
  return { done, words: words.join(', '), secondsLeft };
}
