import { setTimeout } from 'node:timers/promises';
import { ProductError } from '../../infra/errors.ts';
import type { Chain } from '../chains/chain.ts';
import type { Registry } from '../chains/registry.ts';
import type { BlockService } from '../sources/block-service.ts';
import type { Feed, LoadPortion, SourceFault, SourceProgress } from '../sources/feed.ts';
import { countHeights, type HeightRange, rangesOf } from '../sources/heights.ts';
import { type Input, inputsAt } from '../sources/input-files.ts';
import { displayUrl, type ServiceAddress } from '../sources/service-address.ts';
import type { SourceSettings } from '../sources/settings.ts';
import { type SkippedHeight, TIMEOUT_FACTOR_MAX, type UnservedHeight } from '../sources/skipped-heights.ts';
import type { StoredDays } from '../sources/values/value-feed.ts';
import { missingLines, requireFileOfChain } from './archive.ts';
import { download } from './download.ts';
import type { FairShare, ShareMember } from './fair-share.ts';
import { type BlockSource, type FetchedHeight, fetchHeights } from './fetch-heights.ts';
import { openSource } from './open-source.ts';
import { portions, prefetch } from './portions.ts';
import { heightsBetween, type RangeBound, timesBetween } from './range-bounds.ts';

/** A source of blocks: a service, or an archive by its path or URL. */
export type BlockOrigin = Service | { readonly archive: string };

interface Service extends ServiceAddress {
  readonly concurrency: number;
  readonly force?: boolean | undefined;
}

/** A range of a chain to load, and its sources. Each source loads only blocks that earlier sources lack. */
export interface ChainPlan {
  readonly chain: Chain;
  readonly from: RangeBound;
  /** Without it: the finalized head of a service. */
  readonly to?: RangeBound | undefined;
  readonly sources: readonly BlockOrigin[];
}

/** The methods of the loading process that a backfill needs. */
export interface BackfillTarget {
  /** Heights of an inclusive range that are not stored. */
  missing(
    range: HeightRange & { readonly chain: string; readonly withoutSkipped?: boolean },
  ): Promise<readonly HeightRange[]>;
  skipped(chain: string): Promise<readonly SkippedHeight[]>;
  noteSkipped(chain: string, heights: readonly UnservedHeight[]): Promise<void>;
  storedDays: StoredDays;
}

interface BackfillContext {
  readonly registry: Registry;
  readonly config: SourceSettings;
  readonly share: FairShare;
  /** A portion of this size is loaded. */
  readonly portionBytes: number;
  readonly signal: AbortSignal;
}

const PORTION_MS_MAX = 5000;
const DOWNLOAD_ATTEMPTS = 3;
const DOWNLOAD_WAIT_MS = 1000;
/** An archive has no known end. */
const HIGHEST = Number.MAX_SAFE_INTEGER - 1;

/** Loads the missing blocks of one chain, source by source. */
export class ChainBackfill implements Feed {
  readonly unit = 'block';
  readonly plan: ChainPlan;
  readonly faults: SourceFault[] = [];
  /** Null until both ends are known as heights. */
  range: HeightRange | null;
  progress: SourceProgress | null = null;
  hasFailed = false;
  /** Reasons why the genesis block of services was not checked. Their blocks are loaded nevertheless. */
  readonly unchecked: string[] = [];
  /** Blocks fetched so far. */
  fetchedCount = 0;
  readonly #services = new Set<BlockService>();
  readonly #context: BackfillContext;
  readonly #member: ShareMember;
  /** The service of the newest request. */
  #connected: { readonly url: string; readonly service: BlockService } | null = null;

  constructor(plan: ChainPlan, context: BackfillContext) {
    this.plan = plan;
    this.#context = context;
    this.#member = context.share.join();
    const { from, to } = plan;
    this.range =
      to !== undefined && 'height' in from && 'height' in to ? { from: from.height, to: to.height } : null;
  }

  /** Yields the lines to load in portions. The caller requests the next portion when the last one is stored. */
  async *portions(target: BackfillTarget): AsyncGenerator<LoadPortion> {
    try {
      for (const source of this.plan.sources) {
        if (this.range && (await this.missing(target)).length === 0) return;
        yield* this.#from(source, target);
        if (this.#context.signal.aborted) return;
      }
    } finally {
      this.progress = null;
      this.#member.leave();
    }
  }

  /** Heights of the range that are not stored, skipped ones included. */
  async missing(target: BackfillTarget): Promise<readonly HeightRange[]> {
    const { range, plan } = this;
    return range === null ? [] : target.missing({ ...range, chain: plan.chain.name, withoutSkipped: false });
  }

  /** Heights of the range that were skipped. */
  async skipped(target: BackfillTarget): Promise<readonly number[]> {
    const { range, plan } = this;
    if (range === null) return [];
    const skipped = await target.skipped(plan.chain.name);
    return skipped.map(({ number }) => number).filter((number) => number >= range.from && number <= range.to);
  }

  /** Calls that the metadata of a node does not describe. */
  get undecodedCalls(): number {
    return [...this.#services].reduce((sum, { undecodedCalls = 0 }) => sum + undecodedCalls, 0);
  }

  /** Sets the range by the first service that answers. */
  async findRange(): Promise<void> {
    for (const source of this.plan.sources) {
      if (!('url' in source)) continue;
      try {
        return void (await this.#connect(source));
      } catch (error) {
        this.#note(displayUrl(source), error);
      }
    }
  }

  async *#from(source: BlockOrigin, target: BackfillTarget): AsyncGenerator<LoadPortion> {
    const name = 'url' in source ? displayUrl(source) : source.archive;
    this.hasFailed = false;
    try {
      if ('url' in source) yield* this.#fromService(source, target);
      else yield* this.#fromArchive(source.archive, target);
    } catch (error) {
      if (!this.#context.signal.aborted) this.#note(name, error);
    }
  }

  /** Only errors of a source are recorded. Errors of this process or its store end the backfill. */
  #note(source: string, error: unknown): void {
    if (!(error instanceof ProductError) || error.code.startsWith('store_')) throw error;
    this.faults.push({ source, error });
    this.hasFailed = true;
  }

  async #connect({ concurrency: _, ...address }: Service): Promise<BlockService> {
    if (this.#connected?.url === address.url) return this.#connected.service;
    const { config, signal } = this.#context;
    const { chain, from, to } = this.plan;
    this.#begin('connecting', displayUrl(address), null);
    const { service, unchecked } = await openSource({ ...address, chain: chain.name }, config, { signal });
    if (unchecked !== null) this.unchecked.push(unchecked);
    this.range = await heightsBetween(service, from, to);
    this.#connected = { url: address.url, service };
    this.#services.add(service);
    return service;
  }

  async *#fromService(source: Service, target: BackfillTarget): AsyncGenerator<LoadPortion> {
    const service = await this.#connect(source);
    const { name: chain } = this.plan.chain;
    const neededHeights = () =>
      target.missing({ ...(this.range as HeightRange), chain, withoutSkipped: true });
    const { concurrency } = source;
    this.#begin('fetching', service.url, countHeights(await this.missing(target)));
    const skipped = await this.skipped(target);
    for (let missing = await neededHeights(); missing.length > 0; ) {
      yield* this.#fetch(service, { ranges: missing, concurrency, target });
      const stillMissing = await neededHeights();
      // Blocks that the store does not accept as final stay missing: without progress the loop would never end.
      if (countHeights(stillMissing) >= countHeights(missing)) break;
      missing = stillMissing;
    }
    // Skipped heights come last, because all others would wait for them.
    if (skipped.length === 0) return;
    yield* this.#fetch(service, {
      ranges: rangesOf(skipped),
      concurrency,
      target,
      timeoutFactor: TIMEOUT_FACTOR_MAX,
    });
  }

  async *#fetch(
    service: BlockService,
    {
      ranges,
      concurrency,
      target,
      timeoutFactor,
    }: {
      readonly ranges: readonly HeightRange[];
      readonly concurrency: number;
      readonly target: BackfillTarget;
      readonly timeoutFactor?: number;
    },
  ): AsyncGenerator<LoadPortion> {
    const { portionBytes } = this.#context;
    const shared: BlockSource = {
      servesCompleteBlocks: service.servesCompleteBlocks,
      head: () => service.head(),
      block: (number) => this.#member.ask(() => service.block(number, timeoutFactor)),
      probe: (number) => service.block(number),
    };
    const fetched = this.#countFetched(fetchHeights(shared, ranges, concurrency));
    const limits = { bytesMax: portionBytes, msMax: PORTION_MS_MAX };
    for await (const { lines, unserved, bytes } of prefetch(portions(fetched, limits))) {
      if (unserved.length > 0) await target.noteSkipped(this.plan.chain.name, unserved);
      if (lines.length > 0) yield { name: service.url, lines, bytes, firstLine: 1 };
      this.#member.release(bytes);
    }
  }

  async *#countFetched(fetched: AsyncIterable<FetchedHeight>): AsyncGenerator<FetchedHeight> {
    for await (const height of fetched) {
      if (this.progress) this.progress.done++;
      if ('line' in height) this.fetchedCount++;
      yield height;
    }
  }

  async *#fromArchive(archive: string, target: BackfillTarget): AsyncGenerator<LoadPortion> {
    const { registry, signal } = this.#context;
    this.#begin('connecting', archive, null);
    const isAddress = /^https?:/.test(archive);
    const inputs = isAddress ? [download(archive, signal)] : await inputsAt(archive);
    for (const input of inputs) requireFileOfChain(this.plan.chain, registry, input);
    for (const input of inputs) {
      for (let attempt = 1; ; attempt++) {
        try {
          yield* this.#read(input, target);
          break;
        } catch (error) {
          if (!isAddress || attempt === DOWNLOAD_ATTEMPTS || signal.aborted) throw error;
          // The next attempt leaves out blocks that are stored now.
          await setTimeout(DOWNLOAD_WAIT_MS * 2 ** attempt * (0.5 + Math.random()), undefined, { signal });
        }
      }
    }
  }

  async *#read(input: Input, target: BackfillTarget): AsyncGenerator<LoadPortion> {
    const { config, portionBytes, signal } = this.#context;
    const { chain, from, to } = this.plan;
    const stream = input.open();
    const progress = this.#begin('reading', input.name, input.size);
    const wanted = {
      heights: {
        from: 'height' in from ? from.height : 0,
        to: to !== undefined && 'height' in to ? to.height : HIGHEST,
      },
      times: timesBetween(from, to),
      missing: (range: HeightRange) => target.missing({ ...range, chain: chain.name, withoutSkipped: false }),
    };
    const limits = { lineBytes: config.LINE_BYTES_MAX, bytesMax: portionBytes, msMax: PORTION_MS_MAX };
    const refresh = setInterval(() => {
      progress.done = stream.bytesRead;
    }, 200);
    try {
      const archived = missingLines(input, stream, wanted, limits);
      for await (const { name, firstLine, lines, blocks, bytes } of prefetch(archived)) {
        this.fetchedCount += blocks;
        yield { name, lines, bytes, firstLine };
        if (signal.aborted) return;
      }
    } finally {
      clearInterval(refresh);
      stream.destroy();
    }
  }

  #begin(stage: SourceProgress['stage'], source: string, total: number | null): SourceProgress {
    this.progress = { stage, source, began: performance.now(), done: 0, total };
    return this.progress;
  }
}
