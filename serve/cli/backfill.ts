import { Readable } from 'node:stream';
import type { Config } from '../../infra/config.ts';
import { blockLines } from '../../ingest/sources/backfill.ts';
import { countHeights, firstHeights, type Heights } from '../../ingest/sources/heights.ts';
import { Sidecar } from '../../ingest/sources/sidecar.ts';
import { type Display, openDisplay } from './display.ts';
import { EXIT } from './failure.ts';
import { settleShown } from './ingest.ts';
import { openOperator } from './open.ts';
import type { Operator } from './operator.ts';
import { duration, number, plural } from './words.ts';

export interface BackfillOptions {
  readonly url: string;
  readonly chain: string;
  readonly from: number;
  /** The finalized head of the source when absent. */
  readonly to?: number;
  readonly concurrency: number;
  readonly dryRun?: boolean;
}

/** Fetches the blocks that the store lacks; stopped anywhere, the same command goes on with what is still missing. */
export async function backfillCommand(options: BackfillOptions, config: Config): Promise<number> {
  const sidecar = await Sidecar.connect(options.url);
  const to = options.to ?? (await sidecar.head()).number;
  const operator = await openOperator(config);
  const display = openDisplay(process.stderr);
  try {
    const missing = await operator.missing({ chain: options.chain, from: options.from, to });
    if (options.dryRun) {
      process.stdout.write(describePlan(missing, options, to));
      return EXIT.ok;
    }
    const refused = await fill(operator, sidecar, { ...options, to }, missing, display);
    return refused > 0 ? EXIT.refused : EXIT.ok;
  } finally {
    display.end();
    await operator.close();
  }
}

/** Blocks between two computations: metrics of what is there appear while a long backfill still runs. */
const BLOCKS_BETWEEN_COMPUTATIONS = 50_000;

async function fill(
  operator: Operator,
  sidecar: Sidecar,
  { chain, from, to, concurrency }: BackfillOptions & { to: number },
  first: readonly Heights[],
  display: Display,
): Promise<number> {
  const total = countHeights(first);
  const pace = new Pace(total, display);
  const started = performance.now();
  let refused = 0;
  for (let missing = first; missing.length > 0; ) {
    const portion = firstHeights(missing, BLOCKS_BETWEEN_COMPUTATIONS);
    const lines = blockLines(sidecar, portion, concurrency, (bytes) => pace.add(bytes));
    const source = { name: sidecar.url, bytes: Readable.from(lines), chain };
    const report = await operator.hold(() => operator.ingest(source, () => undefined));
    await settleShown(operator, display);
    refused += report.refused_lines + report.refused_facts;
    const left = await operator.missing({ chain, from, to });
    // What was refused stays missing; asking for it again would go on for ever.
    if (report.refused_lines > 0 && countHeights(left) >= countHeights(missing)) break;
    missing = left;
  }
  display.end();
  const words = `${plural(total, 'block')} in ${duration((performance.now() - started) / 1000)}`;
  process.stdout.write(`${words}, metrics included; ${number(refused)} refused\n`);
  return refused;
}

class Pace {
  readonly #started = performance.now();
  readonly #total: number;
  readonly #display: Display;
  #blocks = 0;
  #bytes = 0;

  constructor(total: number, display: Display) {
    this.#total = total;
    this.#display = display;
  }

  add(bytes: number): void {
    this.#blocks++;
    this.#bytes += bytes;
    const seconds = Math.max(0.001, (performance.now() - this.#started) / 1000);
    const share = this.#blocks / this.#total;
    const words = [
      `${number(this.#blocks)} of ${plural(this.#total, 'block')}`,
      `${number(this.#blocks / seconds)} blocks/s`,
      `${(this.#bytes / 1e6 / seconds).toFixed(1)} MB/s`,
      `${duration((seconds / share) * (1 - share))} left`,
    ];
    this.#display.show('fetching', share, words.join(', '));
  }
}

const RANGES_SHOWN = 20;

function describePlan(missing: readonly Heights[], { chain, from }: BackfillOptions, to: number): string {
  const shown = missing.slice(0, RANGES_SHOWN).map((range) => `  ${range.from} to ${range.to}`);
  const more =
    missing.length > RANGES_SHOWN ? [`  … and ${plural(missing.length - RANGES_SHOWN, 'range')} more`] : [];
  const total = `${plural(countHeights(missing), 'block')} of ${chain} are missing between ${from} and ${to}`;
  return `${[`${total}${missing.length > 0 ? ', in this order:' : ''}`, ...shown, ...more].join('\n')}\n`;
}
