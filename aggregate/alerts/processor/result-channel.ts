import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ProductError } from '../../../infra/errors.ts';
import type { KeyValue, Store } from '../../../infra/ports.ts';
import type { ParsedDelivery } from '../formats/delivery.ts';
import type { Outcome } from '../model/alert.ts';
import type { EventHead, ReplayHead } from '../model/event.ts';
import { type CreatedAlert, createdBy } from '../reducer/project-state.ts';
import type { ReplayResult } from './replay.ts';
import { outcomesOf, type StoredOutcome } from './stored-state.ts';

/** What became of an event, for whoever sent it. */
export interface EventResult {
  readonly outcomes: readonly Outcome[];
  readonly created: readonly CreatedAlert[];
  /** Of an order to decide anew: what became of it, or why it could not be carried out. */
  readonly replayed?: ReplayResult | { readonly fault: string };
}

type Head = EventHead | ReplayHead;

export interface ResultChannelOptions {
  readonly keyValue: KeyValue;
  readonly store: Store;
  readonly secondsMax: number;
  readonly onFailure: (error: unknown) => void;
}

const ANSWER_TTL_MS = 60_000;
/** How long the answer of this process is waited for before that of another one is looked for, and how often then. */
const LOCAL_ANSWER_MS = 50;
const BETWEEN_LOOKS_MS = 20;
const BETWEEN_LOOKS_MS_MAX = 250;
/** Who decided may have died, or Redis may have forgotten what it was told: the store knows when all else fails. */
const STORED_ANSWER_MS = 1000;
const BETWEEN_READS_MS = 500;
/** All events of a project may be many. */
const REPLAY_SECONDS_MAX = 600;

interface Waiting {
  readonly head: Head;
  readonly read: ParsedDelivery | null;
  readonly answered: PromiseWithResolvers<EventResult>;
  /** When it was durable; infinite before. */
  since: number;
}

/** Brings what was decided on an event to the process that accepted it. */
export class ResultChannel {
  /** Of this process, for those that decide for it. */
  readonly name = randomUUID();
  readonly #options: ResultChannelOptions;
  readonly #waiting = new Map<string, Waiting>();
  #reading: Promise<void> | undefined;

  constructor(options: ResultChannelOptions) {
    this.#options = options;
  }

  /** Publishes an event of this process and returns what became of it. */
  async of(head: Head, read: ParsedDelivery | null, publish: () => Promise<void>): Promise<EventResult> {
    const answered = Promise.withResolvers<EventResult>();
    const waiting: Waiting = { head, read, answered, since: Number.POSITIVE_INFINITY };
    this.#waiting.set(head.id, waiting);
    let looking: NodeJS.Timeout | undefined;
    try {
      await publish();
      waiting.since = performance.now();
      looking = setTimeout(() => void this.#look(waiting), LOCAL_ANSWER_MS);
      return await answered.promise;
    } finally {
      clearTimeout(looking);
      this.#waiting.delete(head.id);
    }
  }

  /** Called by whoever decided. */
  tell(head: Head, answer: EventResult): void {
    if (head.from === this.name) {
      this.#waiting.get(head.id)?.answered.resolve(answer);
      return;
    }
    const { keyValue, onFailure } = this.#options;
    keyValue.set(keyOf(head.id), JSON.stringify(answer), { ttlMs: ANSWER_TTL_MS }).catch(onFailure);
  }

  /** Looks for what another process says, until the time is over. */
  async #look(waiting: Waiting): Promise<void> {
    const { head, answered, since } = waiting;
    const seconds = head.kind === 'replay' ? REPLAY_SECONDS_MAX : this.#options.secondsMax;
    const until = since + seconds * 1000;
    for (
      let wait = BETWEEN_LOOKS_MS;
      this.#waiting.has(head.id);
      wait = Math.min(wait * 1.2, BETWEEN_LOOKS_MS_MAX)
    ) {
      if (performance.now() > until) return giveUp(waiting);
      if (performance.now() - since > STORED_ANSWER_MS) this.#reading ??= this.#readAll();
      // While Redis is away a question to it takes long.
      const taken = this.#options.keyValue.take(keyOf(head.id)).catch(() => null);
      const told = await Promise.race([taken, pause(STORED_ANSWER_MS, null)]);
      if (told !== null) return answered.resolve(JSON.parse(told) as EventResult);
      await pause(wait);
    }
  }

  /** Asks the store for all that wait for long, in one question for each project. */
  async #readAll(): Promise<void> {
    const due = [...this.#waiting.values()].filter(
      ({ since }) => performance.now() - since > STORED_ANSWER_MS,
    );
    for (const [project, of] of Map.groupBy(due, ({ head }) => head.project)) {
      const ids = of.map(({ head }) => head.id);
      const stored = await outcomesOf(this.#options.store, project, ids).catch(
        () => new Map<string, StoredOutcome>(),
      );
      for (const { head, read, answered } of of) {
        const found = stored.get(head.id);
        if (found === undefined) continue;
        const { outcomes, iids } = found;
        answered.resolve({ outcomes, created: createdBy(read?.items ?? [], outcomes, iids) });
      }
    }
    await pause(BETWEEN_READS_MS);
    this.#reading = undefined;
  }
}

/**
 * A delivery is safe, though nobody said in time what it did. One that its sender named may be sent again, and is
 * answered in full then; any other would count twice. Of a change it matters whether it was made.
 */
function giveUp({ head, answered }: Waiting): void {
  if (head.kind === 'delivery' && head.idempotency_key === '') {
    answered.resolve({ outcomes: [], created: [] });
    return;
  }
  const fault = 'it is kept, but nobody has carried it out yet';
  answered.reject(new ProductError(head.kind === 'delivery' ? 'service_unreachable' : 'store_failed', fault));
}

const keyOf = (id: string) => `alerts/answer/${id}`;
