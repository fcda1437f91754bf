import type { Notification } from './notification.ts';

// What a target is sent in one round, in which order. Pure functions.

/** Notifications about one alert, in their order: one is sent after the other was accepted. */
type NotificationChain = readonly Notification[];

interface RoundInput {
  /** Set aside before, in the order of the events. */
  readonly waiting: readonly Notification[];
  /** After all of them. */
  readonly fresh: readonly Notification[];
  readonly now: number;
  /** Whether the target failed last: then one notification finds out whether it is back. */
  readonly isProbe: boolean;
}

/** The chains whose first notification is due. */
export function chainsToSend({ waiting, fresh, now, isProbe }: RoundInput): NotificationChain[] {
  const chains = [...Map.groupBy([...waiting, ...fresh], ({ iid }) => iid).values()];
  const due = chains.filter(([first]) => first !== undefined && first.next_ms <= now);
  if (!isProbe) return due;
  // The one that failed least: one that is always refused must not keep the target from being tried.
  const [probe] = due.sort((a, b) => (a[0]?.attempts ?? 0) - (b[0]?.attempts ?? 0));
  return probe ? [probe.slice(0, 1)] : [];
}

interface Sending {
  readonly chains: readonly NotificationChain[];
  readonly concurrency: number;
  /** After it no further notification is sent in this round. */
  readonly secondsMax: number;
  readonly isStopped: () => boolean;
  /** Whether the target accepted it; null when it was not sent. */
  readonly send: (notification: Notification) => Promise<boolean | null>;
}

/**
 * Sends chains, several at a time. A chain ends with its first failure. The round ends when nothing was accepted since
 * as many failures as there are requests at a time: the target is down then.
 */
export async function sendChains({
  chains,
  concurrency,
  secondsMax,
  isStopped,
  send,
}: Sending): Promise<void> {
  const queue = chains.values();
  const started = performance.now();
  let failures = 0;
  const isOver = () =>
    failures >= concurrency || isStopped() || performance.now() - started > secondsMax * 1000;
  const work = async () => {
    for (const chain of queue) {
      for (const notification of chain) {
        if (isOver()) return;
        const isAccepted = await send(notification);
        if (isAccepted === null) break;
        failures = isAccepted ? 0 : failures + 1;
        if (!isAccepted) break;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, chains.length) }, work));
}

/** The new notifications that a round leaves behind. */
interface Cut {
  /** How far the events are read: all before are accepted, failed or to be set aside. */
  readonly position: number;
  readonly item: number;
  /** Not sent, although later ones were. */
  readonly passedOver: readonly Notification[];
}

/** Where the next round continues, when only some of the new notifications were sent or set aside. */
export function cutAfter(
  fresh: readonly Notification[],
  handled: ReadonlySet<Notification>,
  before: Pick<Cut, 'position' | 'item'>,
): Cut {
  const last = fresh.findLastIndex((of) => handled.has(of));
  const end = fresh[last];
  if (end === undefined) return { ...before, passedOver: [] };
  return {
    position: end.position - 1,
    item: end.item + 1,
    passedOver: fresh.slice(0, last).filter((of) => !handled.has(of)),
  };
}
