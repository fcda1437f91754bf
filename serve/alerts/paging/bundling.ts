// Bundling turns a storm of alerts into a handful of messages. Pure functions.

const MINUTE_MS = 60_000;
/** The window doubles if more messages than this are sent in ten minutes. */
const MANY_MESSAGES = 10;
const MANY_MS = 10 * MINUTE_MS;
/** The window is reset after this time without many messages. */
const CALM_MS = 30 * MINUTE_MS;
/** Longest wait for a bundle. */
export const WINDOW_MS_MAX = 15 * MINUTE_MS;
/** Older messages have no effect on the window. */
export const HISTORY_MS = CALM_MS + MANY_MS;

export interface SentMessage {
  readonly at: number;
  /** Rank of its most severe alert: 0 is critical. */
  readonly rank: number;
}

interface Waiting {
  readonly due: number;
  readonly rank: number;
}

/**
 * The time at which the waiting notifications of a destination leave. The first message leaves at once. Later ones wait
 * for the end of the window, unless one is more severe than everything sent in this burst.
 */
export function departureOf(
  sent: readonly SentMessage[],
  waiting: readonly Waiting[],
  windowMs: number,
): number {
  const earliest = Math.min(...waiting.map(({ due }) => due));
  const { first, last, window } = burstOf(sent, windowMs);
  if (last === undefined || earliest >= last.at + window) return earliest;
  const worst = Math.min(...sent.slice(first).map(({ rank }) => rank));
  const urgent = waiting.filter(({ rank }) => rank < worst);
  if (urgent.length > 0) return Math.min(...urgent.map(({ due }) => due));
  return last.at + window;
}

/** The current burst: messages less than two windows apart. The window grows while there are many. */
function burstOf(sent: readonly SentMessage[], windowMs: number) {
  let window = windowMs;
  let manyAt = Number.NEGATIVE_INFINITY;
  let first = 0;
  sent.forEach(({ at }, i) => {
    const before = sent[i - 1];
    if (before !== undefined && at >= before.at + 2 * window) first = i;
    const recent = sent.filter((other) => other.at <= at && other.at >= at - MANY_MS).length;
    if (recent > MANY_MESSAGES) {
      manyAt = at;
      window = Math.min(WINDOW_MS_MAX, window * 2);
    } else if (at - manyAt >= CALM_MS) {
      window = windowMs;
    }
  });
  return { first, last: sent.at(-1), window };
}
