import { setTimeout as pause } from 'node:timers/promises';
import { Random } from '../../support/random.ts';
import { madeBody, madeName } from './made.ts';

/** An integration of a project, and how it is reached. */
export interface Target {
  readonly project: number;
  readonly path: string;
  readonly key: string;
}

/** What happened to the attempts that carry the same mark: how many there were, and what the answered ones said. */
export interface Attempts {
  made: number;
  readonly told: string[];
}

export interface SendersOptions {
  /** Where the next request goes. */
  readonly address: () => string;
  readonly targets: readonly Target[];
  /** Of somebody who may change the alerts. */
  readonly token: string;
  readonly senders: number;
  readonly seed: number;
  /** A request that is not answered by then is given up, and sent again. */
  readonly patienceMs: number;
}

/**
 * Many senders that deliver at the same time, each again until it is answered with 200, some a second time after
 * that, while people change statuses.
 */
export class Senders {
  readonly marks = new Map<string, Attempts>();
  attempts = 0;
  /** Deliveries that were begun. */
  done = 0;
  /** Answers by their status; 0 stands for none. */
  readonly statuses = new Map<number, number>();
  readonly #options: SendersOptions;

  constructor(options: SendersOptions) {
    this.#options = options;
  }

  /** Sends while it is told to go on. */
  async run(goesOn: () => boolean): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.senders }, (_, i) => this.#send(i, goesOn)));
  }

  async #send(index: number, goesOn: () => boolean): Promise<void> {
    const { targets, seed } = this.#options;
    const random = new Random(seed * 1000 + index);
    while (goesOn()) {
      const number = ++this.done;
      const target = targets[number % targets.length] as Target;
      if (random.chance(0.05)) await this.#change(target, random);
      const body = madeBody(random);
      const name = madeName(random);
      // Now and then an answer is lost although the delivery was taken: it comes once more.
      for (let left = random.chance(0.1) ? 2 : 1; left > 0; ) {
        this.attempts++;
        // A named delivery is sent again as it was, any other is told apart by its attempt.
        const mark = name === '' ? `attempt ${this.attempts}` : `delivery ${number}`;
        const of = this.marks.get(mark) ?? { made: 0, told: [] };
        this.marks.set(mark, of);
        of.made++;
        const created = await this.#deliver(target, { ...body, mark }, name);
        if (created === null) continue;
        of.told.push(String(created));
        left--;
      }
    }
  }

  /** Numbers of the alerts that a delivery created; null when nobody answered that it was taken. */
  async #deliver({ path, key }: Target, body: object, name: string): Promise<number[] | null> {
    const headers: Record<string, string> = { authorization: `Bearer ${key}` };
    if (name !== '') headers['idempotency-key'] = name;
    const reply = await this.#call(path, 'POST', headers, body);
    if (reply === null) return null;
    const { status, text, retryAfter } = reply;
    if (status === 503) {
      if (retryAfter === null) throw new Error(`503 without Retry-After: ${text}`);
      await pause(20);
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
    const { address, patienceMs } = this.#options;
    try {
      const reply = await fetch(`${address()}${path}`, {
        method,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(patienceMs),
      });
      const text = await reply.text();
      this.#count(reply.status);
      return { status: reply.status, text, retryAfter: reply.headers.get('retry-after') };
    } catch {
      this.#count(0);
      await pause(10);
      return null;
    }
  }

  #count(status: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }
}
