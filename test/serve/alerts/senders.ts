import { setTimeout as pause } from 'node:timers/promises';
import { Random } from '../../../ingest/demo/random.ts';
import { randomIdempotencyKey, randomRuledBody } from './made.ts';

/** An integration of a project with its address and key, and the rules `STATE_RULES`. */
export interface Target {
  readonly project: number;
  readonly path: string;
  readonly key: string;
}

/** The attempts with one mark: how many were sent, and the created alerts of each 200. */
export interface Attempts {
  sent: number;
  readonly answers: string[];
}

export interface SendersOptions {
  /** Base URL of the next request. */
  readonly address: () => string;
  readonly targets: readonly Target[];
  /** Token of a user who may change the alerts. */
  readonly token: string;
  readonly senders: number;
  readonly seed: number;
  /** A request that is not answered in this time is aborted and sent again. */
  readonly timeoutMs: number;
  /** Between two deliveries of a sender. */
  readonly restMs?: number;
}

/** Senders that try again at once would take the processor from the servers that they wait for. */
const RETRY_MS = 150;

/**
 * Concurrent senders that repeat each delivery until it is answered with 200 and some of them once more, and that
 * change statuses of alerts in between.
 */
export class Senders {
  readonly marks = new Map<string, Attempts>();
  attempts = 0;
  /** Deliveries that were started. */
  done = 0;
  /** Number of answers by status; 0 stands for no answer. */
  readonly statuses = new Map<number, number>();
  readonly #options: SendersOptions;

  constructor(options: SendersOptions) {
    this.#options = options;
  }

  /** Sends deliveries while `isRunning` returns true. */
  async run(isRunning: () => boolean): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.senders }, (_, i) => this.#send(i, isRunning)));
  }

  async #send(index: number, isRunning: () => boolean): Promise<void> {
    const { targets, seed, restMs = 0 } = this.#options;
    const random = new Random(seed * 1000 + index);
    while (isRunning()) {
      const number = ++this.done;
      const target = targets[number % targets.length] as Target;
      if (random.chance(0.05)) await this.#change(target, random);
      const body = randomRuledBody(random);
      const name = randomIdempotencyKey(random);
      // Some deliveries are repeated after a 200, as if the sender had lost the answer.
      for (let left = random.chance(0.1) ? 2 : 1; left > 0; ) {
        this.attempts++;
        // A delivery with an idempotency key is repeated unchanged; any other has its own mark for each attempt.
        const mark = name === '' ? `attempt ${this.attempts}` : `delivery ${number}`;
        const of = this.marks.get(mark) ?? { sent: 0, answers: [] };
        this.marks.set(mark, of);
        of.sent++;
        const created = await this.#deliver(target, { ...body, mark }, name);
        if (created === null) continue;
        of.answers.push(String(created));
        left--;
      }
      if (restMs > 0) await pause(restMs);
    }
  }

  /** Numbers of the alerts that a delivery created; null when it was not answered with 200. */
  async #deliver({ path, key }: Target, body: object, name: string): Promise<number[] | null> {
    const headers: Record<string, string> = { authorization: `Bearer ${key}` };
    if (name !== '') headers['idempotency-key'] = name;
    const reply = await this.#call(path, 'POST', headers, body);
    if (reply === null) return null;
    const { status, text, retryAfter } = reply;
    if (status === 503) {
      if (retryAfter === null) throw new Error(`503 without Retry-After: ${text}`);
      await pause(RETRY_MS);
      return null;
    }
    if (status !== 200) throw new Error(`answered with ${status}: ${text}`);
    return (JSON.parse(text) as { iid: number }[]).map(({ iid }) => iid);
  }

  async #change({ project }: Target, random: Random): Promise<void> {
    const iid = random.whole(1, 60);
    const status = random.pick(['triggered', 'acknowledged', 'resolved', 'ignored']);
    const headers = { authorization: `Bearer ${this.#options.token}` };
    await this.#call(`/api/v4/projects/${project}/alerts/${iid}`, 'PUT', headers, { status });
  }

  async #call(path: string, method: string, headers: Record<string, string>, body: object) {
    const { address, timeoutMs } = this.#options;
    try {
      const reply = await fetch(`${address()}${path}`, {
        method,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await reply.text();
      this.#count(reply.status);
      return { status: reply.status, text, retryAfter: reply.headers.get('retry-after') };
    } catch {
      this.#count(0);
      await pause(RETRY_MS);
      return null;
    }
  }

  #count(status: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }
}
