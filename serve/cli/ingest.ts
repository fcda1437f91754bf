import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { IngestSummary } from '../../ingest/log/publish.ts';
import type { Config } from '../settings.ts';
import { type Display, openDisplay } from './display.ts';
import { EXIT, killSelf } from './failure.ts';
import { findInputs, type Input } from './inputs.ts';
import { openOperator } from './open.ts';
import type { IngestReport, Operator } from './operator.ts';
import { bytes, duration, number, plural } from './words.ts';

export interface RunReport extends IngestReport {
  readonly files: number;
  readonly seconds: number;
}

export async function ingestCommand(
  paths: readonly string[],
  { chain, json = false }: { chain?: string; json?: boolean },
  config: Config,
): Promise<number> {
  const inputs = await findInputs(paths);
  const operator = await openOperator(config);
  const display = openDisplay(process.stderr, { silent: json });
  process.once('SIGINT', () => {
    display.end();
    process.stderr.write(
      '\nchain-metrics: stopped; what was loaded stays, and the same command goes on with the rest\n',
    );
    killSelf('SIGINT');
  });
  try {
    const report = await ingestInputs(operator, inputs, chain, display);
    process.stdout.write(json ? `${JSON.stringify(report)}\n` : describe(report, operator.place));
    return report.refused_lines + report.refused_facts > 0 ? EXIT.refused : EXIT.ok;
  } finally {
    display.end();
    await operator.close();
  }
}

/** Loads all inputs and returns when every metric that they touch is up to date. */
export async function ingestInputs(
  operator: Operator,
  inputs: readonly Input[],
  chain: string | undefined,
  display: Display,
): Promise<RunReport> {
  const started = performance.now();
  const reports: IngestReport[] = [];
  const pace = new Pace(inputs);
  await operator.hold(async () => {
    for (const input of inputs) reports.push(await ingestOne(operator, input, chain, pace, display));
  });
  await showComputation(operator, display);
  display.end();
  return { files: inputs.length, ...sum(reports), seconds: Math.round(performance.now() - started) / 1000 };
}

/** Computes what was touched, and shows how far it is. */
export async function showComputation(operator: Operator, display: Display): Promise<void> {
  await operator.waitUntilComputed(({ done, total }) => {
    const words = total === 0 ? 'looking for what changed' : `${number(done)} of ${plural(total, 'window')}`;
    display.show('computing metrics', total === 0 ? 0 : done / total, words);
  });
}

const REFRESH_MS = 100;

async function ingestOne(
  operator: Operator,
  input: Input,
  chain: string | undefined,
  pace: Pace,
  display: Display,
): Promise<IngestReport> {
  const stream = input.open();
  const show = () => {
    pace.bytesOfFile = stream.bytesRead;
    display.show('loading', pace.share(), pace.words(input.name));
  };
  const refresh = setInterval(show, REFRESH_MS);
  try {
    const source = { name: input.name, bytes: stream, ...(chain === undefined ? {} : { chain }) };
    const report = await operator.ingest(source, (soFar) => pace.loaded(soFar));
    show();
    pace.fileDone(report);
    return report;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall !== 'read' && syscall !== 'open') throw error;
    throw new ProductError(
      'store_failed',
      `${input.name} cannot be read to its end (${code}): ${reasonOf(error)}`,
    );
  } finally {
    clearInterval(refresh);
  }
}

/** How fast it goes and how long it still takes. */
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

  fileDone({ blocks }: IngestReport): void {
    this.#bytesBefore += this.bytesOfFile;
    this.#blocksBefore += blocks;
    this.bytesOfFile = 0;
    this.#blocksOfFile = 0;
    this.#file++;
  }

  share(): number | null {
    return this.#total ? (this.#bytesBefore + this.bytesOfFile) / this.#total : null;
  }

  words(name: string): string {
    const seconds = Math.max(0.001, (performance.now() - this.#started) / 1000);
    const read = this.#bytesBefore + this.bytesOfFile;
    const blocks = this.#blocksBefore + this.#blocksOfFile;
    const share = this.share();
    return [
      `${bytes(read)}${this.#total === null ? '' : ` of ${bytes(this.#total)}`}`,
      `${(read / 1e6 / seconds).toFixed(1)} MB/s`,
      `${number(blocks / seconds)} blocks/s`,
      ...(share === null || share === 0 ? [] : [`${duration((seconds / share) * (1 - share))} left`]),
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
    reasons: [...reasons].map(([reason, lines]) => ({ reason, lines })).sort((a, b) => b.lines - a.lines),
  };
}

function describe(report: RunReport, place: string): string {
  const lines = [
    `${plural(report.files, 'file')}, ${plural(report.lines, 'line')} in ${duration(report.seconds)}, metrics included: ` +
      `${plural(report.blocks, 'block')}, ${plural(report.snapshots, 'snapshot')} into ${place}`,
  ];
  if (report.refused_lines > 0) {
    lines.push(
      `${plural(report.refused_lines, 'line was', 'lines were')} refused; they are kept with their reason as dead letters:`,
      ...report.reasons.map(({ reason, lines }) => `  ${number(lines)} × ${reason}`),
    );
  }
  if (report.refused_facts > 0) {
    lines.push(
      `${plural(report.refused_facts, 'fact was', 'facts were')} refused inside blocks that were kept (table refused_facts)`,
    );
  }
  lines.push('see `chain-metrics status`');
  return `${lines.join('\n')}\n`;
}
