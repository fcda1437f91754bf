import { setTimeout } from 'node:timers/promises';
import { DAY_MS, isoDay } from '../../../infra/days.ts';
import { ProductError } from '../../../infra/errors.ts';
import { parseSnapshot } from '../../decode/snapshot.ts';
import { HttpSource } from '../http-source.ts';
import { LINE_END } from '../lines.ts';
import type { FeedRange, ValueAdapter, ValueKind, ValuePoint, ValueRoute } from './adapter.ts';
import type { StoredDaysRequest } from './stored-days.ts';

/** A feed may still change the value of a day for this long after its end. */
const SETTLED_MS = 3_600_000;
const ATTEMPTS = 6;
const BACKOFF_MS = 1000;
const TIMEOUT_MS = 30_000;
const ANSWER_BYTES_MAX = 32 * 2 ** 20;
/** At most this many invalid points of an answer become dead letters. Further points would have the same reason. */
const INVALID_MAX = 20;
const SHOWN_MAX = 100;

/** The values to request from a feed, and the chains that they are stored under. */
export interface ValuePlan {
  readonly kind: ValueKind;
  readonly adapter: ValueAdapter;
  /** Replaces the public address. */
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly requestsPerMinute: number;
  /** First and last day, as milliseconds of their beginning. Without `to`: the last day that has ended. */
  readonly from: number;
  readonly to?: number | undefined;
  readonly series: readonly ValueSeries[];
}

/** A series of a feed. */
export interface ValueSeries {
  /** Name of the series at the feed. */
  readonly id: string;
  readonly relay_chain: string;
  readonly chain: string;
  /** Token of a price; '' for other kinds. */
  readonly symbol: string;
}

/** Days of a range that have a value of a series, as `2024-01-31`. */
export type StoredDays = (request: StoredDaysRequest) => Promise<readonly string[]>;

/** Snapshots of one answer as lines, invalid ones included. */
interface ValueLines {
  readonly source: string;
  readonly lines: readonly Buffer[];
  /** Number of requested days. */
  readonly requested: number;
  /** Number of requested days that have a value. */
  readonly found: number;
}

/** Requests missing days from one feed, one request at a time. */
export class ValueFeed {
  readonly plan: ValuePlan;
  readonly #route: ValueRoute;
  readonly #url: string;
  readonly #http: HttpSource;
  readonly #now: () => number;

  constructor(
    plan: ValuePlan,
    {
      signal,
      now = Date.now,
      backoffMs = BACKOFF_MS,
    }: { signal: AbortSignal; now?: () => number; backoffMs?: number },
  ) {
    const { adapter, kind, url, key, requestsPerMinute } = plan;
    const route = adapter.routes[kind];
    if (!route) throw new ProductError('usage', `${adapter.name} has no ${kind}`);
    this.plan = plan;
    this.#route = route;
    this.#url = (url ?? route.url).replace(/\/+$/, '');
    this.#now = now;
    const limits = { attempts: ATTEMPTS, backoffMs, timeoutMs: TIMEOUT_MS, bodyBytes: ANSWER_BYTES_MAX };
    const header = adapter.keyHeader?.(this.#url);
    this.#http = new HttpSource(
      this.#url,
      { ...limits, signal, pace: pacer(60_000 / requestsPerMinute, signal) },
      header && key ? { [header]: key } : {},
    );
  }

  /** Days of a series without a value, up to the last one that has ended. */
  async missingDays({ relay_chain, chain, symbol }: ValueSeries, stored: StoredDays): Promise<number[]> {
    const { kind, from, to = Number.POSITIVE_INFINITY } = this.plan;
    const today = dayOf(this.#now() - SETTLED_MS);
    const last = Math.min(to, today - DAY_MS);
    if (last < from) return [];
    const range = { from: isoDay(from), to: isoDay(last) };
    const known = new Set(await stored({ kind, relay_chain, chain, symbol, ...range }));
    const days: number[] = [];
    for (let day = from; day <= last; day += DAY_MS) if (!known.has(isoDay(day))) days.push(day);
    return days;
  }

  /** Yields the values of the missing days. */
  async *lines(series: ValueSeries, missing: readonly number[]): AsyncGenerator<ValueLines> {
    const { daysMax } = this.#route;
    for (const days of windows(missing, daysMax ?? Number.POSITIVE_INFINITY)) {
      const range = { from: days[0] as number, until: (days.at(-1) as number) + DAY_MS };
      const request = { days, range, hasAll: daysMax === null, now: this.#now() };
      const points = await this.#http.read(this.#route.path(series.id, range), this.#route.answer(series.id));
      yield {
        source: this.#url,
        requested: days.length,
        ...linesOf(this.plan.kind, series, points, request),
      };
    }
  }
}

interface DaysRequest {
  readonly days: readonly number[];
  readonly range: FeedRange;
  /** Whether the feed always returns its whole history. */
  readonly hasAll: boolean;
  readonly now: number;
}

/** The last value of each requested day, and the first invalid points. The loader refuses invalid points. */
function linesOf(
  kind: ValueKind,
  series: ValueSeries,
  points: readonly ValuePoint[],
  request: DaysRequest,
): Pick<ValueLines, 'lines' | 'found'> {
  const wanted = new Set(request.days);
  const closes = new Map<number, { readonly time: number; readonly document: object }>();
  const invalid: object[] = [];
  for (const { time, usd } of points) {
    const reason = wrongTime(time, request);
    const moment = reason === null ? (time as number) : 0;
    if (reason === null && !wanted.has(dayOf(moment))) continue;
    const document = documentOf(kind, series, reason ?? new Date(moment).toISOString(), usd);
    if (!parseSnapshot(document).ok) invalid.push(document);
    else if (moment >= (closes.get(dayOf(moment))?.time ?? 0))
      closes.set(dayOf(moment), { time: moment, document });
  }
  const documents = [
    ...[...closes.values()].map(({ document }) => document),
    ...invalid.slice(0, INVALID_MAX),
  ];
  return {
    lines: documents.flatMap((document) => [Buffer.from(JSON.stringify(document)), LINE_END]),
    found: closes.size,
  };
}

/** Returns why a time is invalid, or null. Feeds may also return the days next to the requested range. */
function wrongTime(time: unknown, { range, hasAll, now }: DaysRequest): string | null {
  const shown = () => String(JSON.stringify(time)).slice(0, SHOWN_MAX);
  if (typeof time !== 'number' || !Number.isFinite(time)) return `no time: ${shown()}`;
  if (time < 0 || time > now + DAY_MS) return `a time before 1970 or in the future: ${shown()}`;
  const isFar = time < range.from - DAY_MS || time >= range.until + DAY_MS;
  return isFar && !hasAll ? `a day that was not requested: ${shown()}` : null;
}

function documentOf(
  kind: ValueKind,
  { relay_chain, chain, symbol }: ValueSeries,
  as_of: string,
  usd: unknown,
): object {
  const payload = kind === 'price' ? { symbol, usd: usd ?? null } : { tvl_usd: usd ?? null };
  return { schema: 'snapshot/1', kind, relay_chain, chain, as_of, payload };
}

/** Groups sorted days into requests that span at most `daysMax` days. */
function* windows(days: readonly number[], daysMax: number): Generator<number[]> {
  let window: number[] = [];
  for (const day of days) {
    const [first = day] = window;
    if (day - first >= daysMax * DAY_MS) {
      yield window;
      window = [];
    }
    window.push(day);
  }
  if (window.length > 0) yield window;
}

/** Returns a function that waits until `intervalMs` after the last request began. */
function pacer(intervalMs: number, signal: AbortSignal): () => Promise<void> {
  let next = 0;
  return async () => {
    const wait = next - performance.now();
    next = Math.max(next, performance.now()) + intervalMs;
    if (wait > 0) await setTimeout(wait, undefined, { signal });
  };
}

const dayOf = (time: number) => time - (time % DAY_MS);
