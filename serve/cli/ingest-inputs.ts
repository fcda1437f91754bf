import { Readable } from 'node:stream';
import type { ComputeProgress } from '../../aggregate/runner/aggregator.ts';
import type { FailedMetric } from '../../aggregate/runner/failures.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { readAll } from '../../infra/ports.ts';
import type { IngestSummary } from '../../ingest/log/publish.ts';
import type { Input } from '../../ingest/sources/input-files.ts';
import type { OperationClient } from '../operations/client.ts';
import type { IngestReport } from '../operations/ingest.ts';
import { FILES_BYTES_MAX, REASONS_MAX } from '../operations/ingest-limits.ts';
import { pausingCompute } from '../operations/pausing.ts';
import type { Display, ProgressStep } from './display.ts';
import { bytes, number, plural } from './words.ts';

export interface RunReport extends IngestReport {
  readonly files: number;
  readonly seconds: number;
  /** Metrics that fail, while all others that do not read them are computed. */
  readonly failed_metrics: readonly FailedMetric[];
}

/** Loads all inputs and returns when every metric that depends on them is computed. */
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

export interface InputsOf {
  /** Of bare blocks, over the names of the files. */
  readonly chain?: string | undefined;
  /** Whether they are the demo data. */
  readonly demo?: boolean;
}

/** Loads all inputs, of which nothing has to be computed when it returns. */
export async function loadInputs(
  client: OperationClient,
  inputs: readonly Input[],
  of: InputsOf,
  display: Display,
): Promise<IngestReport> {
  const reports: IngestReport[] = [];
  const pace = new Pace(inputs);
  await pausingCompute(client, async () => {
    for (const group of groups(inputs)) {
      const [input, ...others] = group;
      if (input === undefined) continue;
      const isAlone = others.length === 0;
      const report = await (isAlone
        ? ingestOne(client, input, of, pace, display)
        : ingestGroup(client, group, of, pace, display));
      pace.filesDone(group.length, report);
      reports.push(report);
    }
    display.complete();
  });
  return sum(reports);
}

/** Waits until everything is computed, and shows the progress; returns the metrics that fail. */
export async function showComputation(
  client: OperationClient,
  display: Display,
): Promise<readonly FailedMetric[]> {
  let windows = 0;
  const onProgress = ({ done, total }: ComputeProgress) => {
    windows = Math.max(windows, total);
    const words = total === 0 ? 'looking for what changed' : `${number(done)} of ${plural(total, 'window')}`;
    display.show('computing metrics', { done: total === 0 ? 0 : done / total, words });
  };
  const { failed_metrics } = await client.call('waitUntilComputed', {}, { onProgress });
  display.complete(plural(windows, 'window'));
  return failed_metrics;
}

/** A line for each metric that fails. */
export const failedWords = (failures: readonly FailedMetric[]): string =>
  failures
    .map(
      ({ metric, reason }) =>
        `FAILED ${metric.replaceAll('_', '-')}; it and what reads it are not computed: ${reason}\n`,
    )
    .join('');

const REFRESH_MS = 100;

async function ingestOne(
  client: OperationClient,
  input: Input,
  { chain, demo = false }: InputsOf,
  pace: Pace,
  display: Display,
): Promise<IngestReport> {
  const stream = input.open();
  const show = () => {
    pace.bytesOfFile = stream.bytesRead;
    display.show('loading', pace.step(input.name));
  };
  const refresh = setInterval(show, REFRESH_MS);
  try {
    const report = await client.call(
      'ingest',
      { name: input.name, demo, ...(chain === undefined ? {} : { chain }) },
      { body: stream, onProgress: (soFar) => pace.loaded(soFar) },
    );
    show();
    return report;
  } catch (error) {
    throw asUnreadable(error, input);
  } finally {
    clearInterval(refresh);
  }
}

/** A load costs as much as some megabytes of blocks, however small it is: small files share one. */
const SMALL_FILE_BYTES = 8 * 2 ** 20;
const GROUP_FILES_MAX = 1000;
/** Files that grow meanwhile fit as well. */
const GROUP_BYTES_MAX = FILES_BYTES_MAX / 2;
/** The names of a group are sent to a running server in one header. */
const GROUP_NAMES_BYTES_MAX = 512 * 2 ** 10;

/** Small files that follow one another, and each other input by itself. */
function* groups(inputs: readonly Input[]): Generator<readonly Input[]> {
  let group: Input[] = [];
  let [bytes, nameBytes] = [0, 0];
  for (const input of inputs) {
    const size = input.size ?? Number.POSITIVE_INFINITY;
    nameBytes += encodeURIComponent(input.name).length;
    const isFull =
      bytes + size > GROUP_BYTES_MAX || nameBytes > GROUP_NAMES_BYTES_MAX || group.length === GROUP_FILES_MAX;
    if (size > SMALL_FILE_BYTES || isFull) {
      yield group;
      group = [];
      bytes = 0;
      nameBytes = encodeURIComponent(input.name).length;
    }
    if (size > SMALL_FILE_BYTES) yield [input];
    else {
      group.push(input);
      bytes += size;
    }
  }
  yield group;
}

async function ingestGroup(
  client: OperationClient,
  inputs: readonly Input[],
  { chain, demo = false }: InputsOf,
  pace: Pace,
  display: Display,
): Promise<IngestReport> {
  const contents: Buffer[] = [];
  for (const input of inputs) {
    const content = await readAll(input.open()).catch((error) => {
      throw asUnreadable(error, input);
    });
    contents.push(content);
    pace.bytesOfFile += content.length;
    display.show('loading', pace.step(input.name));
  }
  const files = inputs.map(({ name }, i) => ({ name, bytes: contents[i]?.length ?? 0 }));
  return client.call(
    'ingestFiles',
    { files, demo, ...(chain === undefined ? {} : { chain }) },
    {
      body: Readable.from(contents.filter(({ length }) => length > 0)),
      onProgress: (soFar) => pace.loaded(soFar),
    },
  );
}

function asUnreadable(error: unknown, input: Input): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall !== 'read' && syscall !== 'open') return error;
  return new ProductError(
    'store_failed',
    `${input.name} cannot be read to its end (${code}): ${reasonOf(error)}`,
  );
}

/** The rate of loading, and the time that is left. */
class Pace {
  bytesOfFile = 0;
  readonly #started = performance.now();
  readonly #total: number | null;
  readonly #files: number;
  #bytesBefore = 0;
  #blocksBefore = 0;
  #blocksOfFile = 0;
  #file = 1;

  constructor(inputs: readonly Input[]) {
    this.#files = inputs.length;
    this.#total = inputs.reduce<number | null>(
      (sum, { size }) => (sum === null || size === null ? null : sum + size),
      0,
    );
  }

  loaded({ blocks }: IngestSummary): void {
    this.#blocksOfFile = blocks;
  }

  filesDone(files: number, { blocks }: IngestReport): void {
    this.#bytesBefore += this.bytesOfFile;
    this.#blocksBefore += blocks;
    this.bytesOfFile = 0;
    this.#blocksOfFile = 0;
    this.#file += files;
  }

  step(name: string): ProgressStep {
    const seconds = Math.max(0.001, (performance.now() - this.#started) / 1000);
    const done = this.#share();
    const secondsLeft = done === null || done === 0 ? undefined : (seconds / done) * (1 - done);
    return { done, words: this.#words(name, seconds), secondsLeft };
  }

  #share(): number | null {
    return this.#total ? (this.#bytesBefore + this.bytesOfFile) / this.#total : null;
  }

  #words(name: string, seconds: number): string {
    const read = this.#bytesBefore + this.bytesOfFile;
    const blocks = this.#blocksBefore + this.#blocksOfFile;
    return [
      `${bytes(read)}${this.#total === null ? '' : ` of ${bytes(this.#total)}`}`,
      `${(read / 1e6 / seconds).toFixed(1)} MB/s`,
      `${number(blocks / seconds)} blocks/s`,
      this.#files === 1 ? name : `${name} (${number(this.#file)} of ${number(this.#files)})`,
    ].join(', ');
  }
}

function sum(reports: readonly IngestReport[]): IngestReport {
  const reasons = new Map<string, number>();
  for (const { reason, lines } of reports.flatMap((report) => report.reasons)) {
    reasons.set(reason, (reasons.get(reason) ?? 0) + lines);
  }
  const total = (count: (report: IngestReport) => number) =>
    reports.reduce((all, report) => all + count(report), 0);
  return {
    lines: total((report) => report.lines),
    blocks: total((report) => report.blocks),
    snapshots: total((report) => report.snapshots),
    refused_lines: total((report) => report.refused_lines),
    refused_facts: total((report) => report.refused_facts),
    // Reasons that several files have are one; of a file with very many, the rest counts by itself.
    reasons_total: reasons.size + total((report) => report.reasons_total - report.reasons.length),
    reasons: [...reasons]
      .map(([reason, lines]) => ({ reason, lines }))
      .sort((a, b) => b.lines - a.lines)
      .slice(0, REASONS_MAX),
  };
}
