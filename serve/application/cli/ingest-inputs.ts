import { toKebabCase } from '../../../aggregate/metric-name.ts';
import type { ComputeProgress } from '../../../aggregate/runner/aggregator.ts';
import type { FailedMetric } from '../../../aggregate/runner/failures.ts';
import { ProductError, reasonOf } from '../../../infra/errors.ts';
import type { Input } from '../../../ingest/sources/input-files.ts';
import type { IngestSummary, OpenSource } from '../../../ingest/sources/publish.ts';
import type { OperationClient } from '../operations/client.ts';
import type { IngestReport } from '../operations/ingest.ts';
import { withComputePaused } from '../operations/pause-compute.ts';
import type { Display, ProgressStep } from './display.ts';
import { formatBytes, formatNumber, plural } from './format.ts';

export interface RunReport extends IngestReport {
  readonly files: number;
  readonly seconds: number;

  readonly failed_metrics: readonly FailedMetric[];
}

/** Loads all inputs and returns if every metric that depends on them is computed. */
export async function ingestInputs(
  client: OperationClient,
  inputs: readonly Input[],
  chain: string | undefined,
  display: Display,
): Promise<RunReport> {
  const started = performance.now();
  const report = await loadInputs(client, inputs, { chain }, display);
  const failed_metrics = await showComputation(client, display);
  const seconds = Math.round(performance.now() - started) / 1000;
  return { files: inputs.length, ...report, seconds, failed_metrics };
}

interface InputOptions {
  /** The chain of bare blocks; overrides the file names. */
  readonly chain?: string | undefined;
  /** Whether the inputs are the demo data. */
  readonly demo?: boolean;
}

/** Loads all inputs, without waiting for the computation of metrics. */
export async function loadInputs(
  client: OperationClient,
  inputs: readonly Input[],
  { chain, demo = false }: InputOptions,
  display: Display,
): Promise<IngestReport> {
  const pace = new Pace(inputs);
  return withComputePaused(client, async () => {
    const refresh = setInterval(() => display.show('loading', pace.step()), REFRESH_MS);
    try {
      const report = await client.call(
        'ingestFiles',
        { demo, ...(chain === undefined ? {} : { chain }) },
        { files: pace.files(), onProgress: (summary) => pace.setLoaded(summary) },
      );
      display.show('loading', pace.step());
      display.complete();
      return report;
    } catch (error) {
      throw asUnreadable(error, pace.file);
    } finally {
      clearInterval(refresh);
    }
  });
}

/** Waits until all metrics are computed, and shows the progress. Returns the failed metrics. */
export async function showComputation(
  client: OperationClient,
  display: Display,
): Promise<readonly FailedMetric[]> {
  let windows = 0;
  const onProgress = ({ done, total }: ComputeProgress) => {
    windows = Math.max(windows, total);
    const words = total === 0 ? 'looking for changes' : `${formatNumber(done)} of ${plural(total, 'window')}`;
    display.show('computing metrics', { done: total === 0 ? 0 : done / total, words });
  };
  const { failed_metrics } = await client.call('waitUntilComputed', {}, { onProgress });
  display.complete(plural(windows, 'window'));
  return failed_metrics;
}

/** A line for each failed metric. */
export const failureText = (failures: readonly FailedMetric[]): string =>
  failures
    .map(
      ({ metric, reason }) => `FAILED ${toKebabCase(metric)}, and the metrics that depend on it: ${reason}\n`,
    )
    .join('');

const REFRESH_MS = 100;

function asUnreadable(error: unknown, file: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall !== 'read' && syscall !== 'open') return error;
  return new ProductError(
    'store_failed',
    `${file} could not be read completely (${code}): ${reasonOf(error)}`,
  );
}

/** The rate of loading, and the time that is left. */
class Pace {
  readonly #started = performance.now();
  readonly #total: number | null;
  readonly #inputs: readonly Input[];
  #bytesBefore = 0;
  #blocks = 0;
  #file = 0;
  /** The name of the current file. */
  file = '';
  #open: { readonly bytesRead: number } = { bytesRead: 0 };

  constructor(inputs: readonly Input[]) {
    this.#inputs = inputs;
    this.#total = inputs.reduce<number | null>(
      (sum, { size }) => (sum === null || size === null ? null : sum + size),
      0,
    );
  }

  *files(): Generator<OpenSource> {
    for (const input of this.#inputs) {
      this.#bytesBefore += this.#open.bytesRead;
      this.#file++;
      this.file = input.name;
      const bytes = input.open();
      this.#open = bytes;
      yield { name: input.name, bytes };
    }
  }

  setLoaded({ blocks }: IngestSummary): void {
    this.#blocks = blocks;
  }

  step(): ProgressStep {
    const seconds = Math.max(0.001, (performance.now() - this.#started) / 1000);
    const done = this.#total ? this.#read / this.#total : null;
    const secondsLeft = done === null || done === 0 ? undefined : (seconds / done) * (1 - done);
    return { done, words: this.#words(seconds), secondsLeft };
  }

  get #read(): number {
    return this.#bytesBefore + this.#open.bytesRead;
  }

  #words(seconds: number): string {
    const files = this.#inputs.length;
    return [
      `${formatBytes(this.#read)}${this.#total === null ? '' : ` of ${formatBytes(this.#total)}`}`,
      `${(this.#read / 1e6 / seconds).toFixed(1)} MB/s`,
      `${formatNumber(this.#blocks / seconds)} blocks/s`,
      files === 1 ? this.file : `${this.file} (${formatNumber(this.#file)} of ${formatNumber(files)})`,
    ].join(', ');
  }
}
