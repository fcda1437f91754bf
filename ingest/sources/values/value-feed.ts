import { setTimeout } from 'node:timers/promises';
import { DAY_MS, isoDay } from '../../../infra/days.ts';
import { ProductError } from '../../../infra/errors.ts';
import { parseSnapshot } from '../../decode/snapshot.ts';
import { HttpSource } from '../http-source.ts';
import { LINE_END } from '../lines.ts';
import type { AskedRange, ValueAdapter, ValueKind, ValuePoint, ValueRoute } from './adapter.ts';
import type { StoredDaysRequest } from './stored-days.ts';

/** What a feed says of a day may change for a while after its end. */
const SETTLED_MS = 3_600_000;
const ATTEMPTS = 6;
const BACKOFF_MS = 1000;
const TIMEOUT_MS = 30_000;
const ANSWER_BYTES_MAX = 32 * 2 ** 20;
/** Points of one answer that become dead letters; more of them are of the same kind. */
const NONSENSE_MAX = 20;
const SHOWN_MAX = 100;

/** What is asked of a feed, and what its values are stored as. */
export interface ValuePlan {
  readonly kind: ValueKind;
  readonly adapter: ValueAdapter;
  /** In place of the public address. */
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly requestsPerMinute: number;
  /** Beginnings of days; the last ended day when the second is absent. */
  readonly from: number;
  readonly to?: number | undefined;
  readonly series: readonly ValueSeries[];
}

/** A series of a feed by its own name for it. */
export interface ValueSeries {
  readonly id: string;
  readonly relay_chain: string;
  readonly chain: string;
  /** Of a price; empty otherwise. */
  readonly symbol: string;
}

/** Days of a range that have a value of a series, as `2024-01-31`. */
export type StoredDays = (request: StoredDaysRequest) => Promise<readonly string[]>;

/** Snapshots of one answer as lines, refused ones among them. */
interface ValueLines {
  readonly source: string;
  readonly lines: readonly Buffer[];
  /** Days that were asked for, and those that have a value. */
  readonly asked: number;
  readonly found: number;
}

/** Asks one feed for the days that are not stored, politely: one request after another. */
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

  /** What the feed has of some days. */
  async *lines(series: ValueSeries, missing: readonly number[]): AsyncGenerator<ValueLines> {
    const { daysMax } = this.#route;
    for (const days of windows(missing, daysMax ?? Number.POSITIVE_INFINITY)) {
      const range = { from: days[0] as number, until: (days.at(-1) as number) + DAY_MS };
      const asked = { days, range, hasAll: daysMax === null, now: this.#now() };
      const points = await this.#http.read(this.#route.path(series.id, range), this.#route.answer(series.id));
      yield {
        source: this.#url,
        asked: days.length,
        ...linesOf(this.plan.kind, series, points, asked),
      };
    }
  }
}

interface Asked {
  readonly days: readonly number[];
  readonly range: AskedRange;
  /** Whether the feed always gives its whole history. */
  readonly hasAll: boolean;
  readonly now: number;
}

/** The last value of each day that was asked for, and what makes no sense, for the loader to refuse. */
function linesOf(
  kind: ValueKind,
  series: ValueSeries,
  points: readonly ValuePoint[],
  asked: Asked,
): Pick<ValueLines, 'lines' | 'found'> {
  const wanted = new Set(asked.days);
  const closes = new Map<number, { readonly time: number; readonly document: object }>();
  const nonsense: object[] = [];
  for (const { time, usd } of points) {
    const reason = wrongTime(time, asked);
    const moment = reason === null ? (time as number) : 0;
    if (reason === null && !wanted.has(dayOf(moment))) continue;
    const document = documentOf(kind, series, reason ?? new Date(moment).toISOString(), usd);
    if (!parseSnapshot(document).ok) nonsense.push(document);
    else if (moment >= (closes.get(dayOf(moment))?.time ?? 0))
      closes.set(dayOf(moment), { time: moment, document });
  }
  const documents = [
    ...[...closes.values()].map(({ document }) => document),
    ...nonsense.slice(0, NONSENSE_MAX),
  ];
  return {
    lines: documents.flatMap((document) => [Buffer.from(JSON.stringify(document)), LINE_END]),
    found: closes.size,
  };
}

/** Why a time is none of what was asked for; the days beside those may always come. */
function wrongTime(time: unknown, { range, hasAll, now }: Asked): string | null {
  const shown = () => String(JSON.stringify(time)).slice(0, SHOWN_MAX);
  if (typeof time !== 'number' || !Number.isFinite(time)) return `no time: ${shown()}`;
  if (time < 0 || time > now + DAY_MS) return `a time before 1970 or to come: ${shown()}`;
  const isFar = time < range.from - DAY_MS || time >= range.until + DAY_MS;
  return isFar && !hasAll ? `a day that was not asked for: ${shown()}` : null;
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

/** Days that one request asks for: they lie within so many days. */
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

/** Lets requests begin no oftener than that. */
function pacer(intervalMs: number, signal: AbortSignal): () => Promise<void> {
  let next = 0;
  return async () => {
    const wait = next - performance.now();
    next = Math.max(next, performance.now()) + intervalMs;
    if (wait > 0) await setTimeout(wait, undefined, { signal });
  };
}

const dayOf = (time: number) => time - (time % DAY_MS);
