import { Readable } from 'node:stream';
import type { FailedMetric } from '../../../aggregate/runner/failures.ts';
import { ProductError } from '../../../infra/errors.ts';
import { countHeights, firstHeights, type Heights, rangesOf } from '../../../ingest/sources/heights.ts';
import type { SourceOptions } from '../../../ingest/sources/open-source.ts';
import type { Sidecar } from '../../../ingest/sources/sidecar.ts';
import { SKIPPED_REASON_CHARACTERS, type UnservedHeight } from '../../../ingest/sources/skipped-heights.ts';
import { type OperationClient, pausingCompute } from '../../operations/client.ts';
import { parseWhole, sourceOptions } from '../arguments.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { type Display, openDisplay } from '../display.ts';
import { EXIT } from '../failure.ts';
import { failedWords, showComputation } from '../ingest-inputs.ts';
import { stopOnSignal } from '../stop.ts';
import { duration, number, plural } from '../words.ts';

interface BackfillOptions extends SourceOptions {
  readonly from: number;
  /** The finalized head of the source when absent. */
  readonly to?: number;
  readonly concurrency: number;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export const backfill = command<[], BackfillOptions>({
  name: 'backfill',
  description: 'fetch the blocks that are missing from a Sidecar or polkadot-rest-api',
  args: (command) =>
    jsonOption(sourceOptions(command))
      .option('--from <height>', 'first height', parseWhole, 0)
      .option('--to <height>', 'last height, up to the finalized head; that head when absent', parseWhole)
      .option('--dry-run', 'only tell what is missing'),
  help: `Holes between stored blocks are filled first. Stopped by anything, the same command goes on with what is still
missing: the store itself says what that is. Requests that fail are tried again, later and later; when the service
stays away, what was fetched is kept and the command ends. A height that fails while the service gives others is
skipped: \`gaps\` shows it with its reason, and the next run begins with it. While a server runs on the data directory, it does the
loading.

Examples:
  chain-metrics backfill --url http://127.0.0.1:8080 --chain polkadot --dry-run
  chain-metrics backfill --url http://127.0.0.1:8080 --chain asset-hub-polkadot --from 11000000 --to 11050000

Exit code 3 says that something was refused or stays missing; \`chain-metrics gaps\` shows the heights.`,
  run: async ({ options, config }) => {
    const { openSource } = await import('../../../ingest/sources/open-source.ts');
    const stop = stopOnSignal();
    const { sidecar, chain } = await openSource(options, config, { signal: stop });
    const head = (await sidecar.head()).number;
    // Blocks that are not finalized may still be replaced: they are for `follow`.
    const range = { chain: chain.name, from: options.from, to: Math.min(options.to ?? head, head) };
    if (range.from > range.to) {
      throw new ProductError(
        'usage',
        `no heights from ${range.from} to ${range.to}; the finalized head is ${head}`,
      );
    }
    const display = openDisplay(process.stderr, { silent: options.json === true });
    return withOperations(config, async (client) => {
      try {
        const missing = await client.call('missingHeights', range);
        if (options.dryRun) {
          print({ ...range, missing }, options, () => describePlan(missing, range));
          return EXIT.ok;
        }
        return await fill({ client, sidecar, range, display, stop, ...options }, countHeights(missing));
      } finally {
        display.end();
      }
    });
  },
});

interface Range extends Heights {
  readonly chain: string;
}

interface Work {
  readonly client: OperationClient;
  readonly sidecar: Sidecar;
  readonly range: Range;
  readonly concurrency: number;
  readonly display: Display;
  readonly stop: AbortSignal;
  readonly json?: boolean;
}

/** Blocks between two computations: metrics of what is there appear while a long backfill still runs. */
const BLOCKS_BETWEEN_COMPUTATIONS = 50_000;

async function fill(work: Work, total: number): Promise<number> {
  const { client, range, display } = work;
  const pace = new Pace(total, display);
  const started = performance.now();
  const unknown = () => client.call('missingHeights', { ...range, withoutSkipped: true });
  // Heights that earlier runs did not get come first.
  const skipped = await skippedWithin(work);
  if (skipped.length > 0 && !(await takeIn(work, rangesOf(skipped), pace))) return stopped(display);
  for (let missing = await unknown(); missing.length > 0; ) {
    if (!(await takeIn(work, firstHeights(missing, BLOCKS_BETWEEN_COMPUTATIONS), pace)))
      return stopped(display);
    const left = await unknown();
    // What the source gives and the store does not keep as final stays missing; asking again would never end.
    if (countHeights(left) >= countHeights(missing)) break;
    missing = left;
  }
  display.end();
  const report: BackfillReport = {
    ...range,
    blocks: pace.blocks,
    refused: pace.refused,
    missing: countHeights(await client.call('missingHeights', range)),
    skipped: (await skippedWithin(work)).length,
    seconds: Math.round(performance.now() - started) / 1000,
    failed_metrics: pace.failed,
  };
  print(report, work, () => textOf(report));
  if (pace.failed.length > 0) return EXIT.failure;
  return pace.refused > 0 || report.missing > 0 ? EXIT.refused : EXIT.ok;
}

interface BackfillReport extends Range {
  readonly blocks: number;
  readonly refused: number;
  /** Heights of the range that are still not stored, the skipped ones among them. */
  readonly missing: number;
  readonly skipped: number;
  readonly seconds: number;
  readonly failed_metrics: readonly FailedMetric[];
}

function textOf({ blocks, refused, missing, skipped, seconds, failed_metrics }: BackfillReport): string {
  const lacking = missing === 0 ? '' : `; ${plural(missing, 'height')} still missing`;
  const why = skipped === 0 ? '' : `, ${number(skipped)} skipped: \`chain-metrics gaps\` says why`;
  return (
    `${plural(blocks, 'block')} in ${duration(seconds)}, metrics included; ${number(refused)} refused${lacking}${why}\n` +
    failedWords(failed_metrics)
  );
}

/** Loads heights and computes what depends on them; false when it was told to stop. */
async function takeIn(work: Work, heights: Heights[], pace: Pace): Promise<boolean> {
  const { report, fault } = await load(work, heights, pace);
  pace.refused += report.refused_lines + report.refused_facts;
  if (work.stop.aborted) return false;
  if (pace.isWhole) work.display.complete();
  pace.failed = await showComputation(work.client, work.display);
  if (fault !== undefined) throw fault;
  return true;
}

function stopped(display: Display): number {
  display.end();
  process.stderr.write(
    'chain-metrics: stopped; what was loaded stays, and the same command goes on with the rest\n',
  );
  return EXIT.failure;
}

async function skippedWithin({ client, range: { chain, from, to } }: Work): Promise<number[]> {
  const skipped = await client.call('skippedHeights', { chain });
  return skipped.map((height) => height.number).filter((height) => height >= from && height <= to);
}

/** Heights of one call: its input has to fit into a header. */
const NOTED_AT_ONCE = 500;

/**
 * Loads what can be fetched. A source that fails half way ends the lines, not the load: what came is kept. What it does
 * not serve while it serves the rest is skipped.
 */
async function load({ client, sidecar, range, concurrency }: Work, heights: Heights[], pace: Pace) {
  const failed: { fault?: unknown } = {};
  const unserved: UnservedHeight[] = [];
  const onUnserved = ({ number, reason }: UnservedHeight) =>
    void unserved.push({ number, reason: reason.slice(0, SKIPPED_REASON_CHARACTERS) });
  const lines = async function* () {
    try {
      const { blockLines } = await import('../../../ingest/sources/backfill.ts');
      yield* blockLines(sidecar, heights, concurrency, (bytes) => pace.add(bytes), onUnserved);
    } catch (error) {
      failed.fault = error;
    }
  };
  const input = { name: sidecar.url, chain: range.chain };
  const body = Readable.from(lines());
  const report = await pausingCompute(client, () => client.call('ingest', input, { body }));
  for (let i = 0; i < unserved.length; i += NOTED_AT_ONCE) {
    const part = unserved.slice(i, i + NOTED_AT_ONCE);
    await client.call('noteSkippedHeights', { chain: range.chain, heights: part });
  }
  return { report, fault: failed.fault };
}

/** What was done so far, and how fast. */
class Pace {
  readonly #started = performance.now();
  readonly #total: number;
  readonly #display: Display;
  blocks = 0;
  refused = 0;
  /** Metrics that failed in the last computation. */
  failed: readonly FailedMetric[] = [];
  #bytes = 0;

  constructor(total: number, display: Display) {
    this.#total = total;
    this.#display = display;
  }

  add(bytes: number): void {
    this.blocks++;
    this.#bytes += bytes;
    const seconds = Math.max(0.001, (performance.now() - this.#started) / 1000);
    const done = this.blocks / this.#total;
    const words = [
      `${number(this.blocks)} of ${plural(this.#total, 'block')}`,
      `${number(this.blocks / seconds)} blocks/s`,
      `${(this.#bytes / 1e6 / seconds).toFixed(1)} MB/s`,
    ].join(', ');
    this.#display.show('fetching', { done, words, secondsLeft: (seconds / done) * (1 - done) });
  }

  get isWhole(): boolean {
    return this.blocks >= this.#total;
  }
}

const RANGES_SHOWN = 20;

function describePlan(missing: readonly Heights[], { chain, from, to }: Range): string {
  const shown = missing.slice(0, RANGES_SHOWN).map((range) => `  ${range.from} to ${range.to}`);
  const more =
    missing.length > RANGES_SHOWN ? [`  … and ${plural(missing.length - RANGES_SHOWN, 'range')} more`] : [];
  const total = `${plural(countHeights(missing), 'block')} of ${chain} missing between ${from} and ${to}`;
  return `${[`${total}${missing.length > 0 ? ', in this order:' : ''}`, ...shown, ...more].join('\n')}\n`;
}
