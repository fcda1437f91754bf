/** Limits of all chains of a process together. */
interface ShareLimits {
  /** Concurrent requests. */
  readonly requestsMax: number;
  /** Bytes of answers that are not stored yet. Answers of requests in progress come on top. */
  readonly bytesMax: number;
}

/**
 * Shares requests and memory equally among chains, so that a slow source takes nothing from the others. The memory limit
 * never stops a chain that holds nothing.
 *
 * Not `Admission`, which gives one caller at most half of the slots and rejects late requests: a single chain must be
 * able to use all slots, and waits as long as needed.
 */
export class FairShare {
  readonly #limits: ShareLimits;
  readonly #members = new Set<ShareMember>();
  #asking = 0;
  #bytes = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** Adds a chain, until it leaves. */
  join(): ShareMember {
    const member = new ShareMember({
      canAsk: (one) => this.#canAsk(one),
      ask: (by) => {
        this.#asking += by;
      },
      hold: (bytes) => {
        this.#bytes += bytes;
      },
      freed: () => this.#admit(),
      left: (one) => this.#members.delete(one),
    });
    this.#members.add(member);
    return member;
  }

  #canAsk(member: ShareMember): boolean {
    const { requestsMax, bytesMax } = this.#limits;
    const part = Math.max(1, Math.floor(requestsMax / this.#members.size));
    const hasRoom = this.#bytes < bytesMax || (member.bytes === 0 && member.asking === 0);
    return this.#asking < requestsMax && member.asking < part && hasRoom;
  }

  /** The member with the fewest requests in progress comes first. */
  #admit(): void {
    const waiting = () =>
      [...this.#members]
        .filter((member) => member.isWaiting && this.#canAsk(member))
        .sort((a, b) => a.asking - b.asking);
    for (let [next] = waiting(); next; [next] = waiting()) next.admit();
  }
}

interface Whole {
  canAsk(member: ShareMember): boolean;
  ask(by: 1 | -1): void;
  hold(bytes: number): void;
  freed(): void;
  left(member: ShareMember): void;
}

/** The share of one chain. */
export class ShareMember {
  /** Requests in progress. */
  asking = 0;
  /** Bytes of answers that are not stored yet. */
  bytes = 0;
  readonly #whole: Whole;
  readonly #waiting: (() => void)[] = [];
  #hasLeft = false;

  constructor(whole: Whole) {
    this.#whole = whole;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Calls `request` when the share allows it. The bytes of the answer count until they are released. */
  async ask<Answer extends { readonly length: number }>(request: () => Promise<Answer>): Promise<Answer> {
    if (this.isWaiting || !this.#whole.canAsk(this)) {
      await new Promise<void>((admitted) => {
        this.#waiting.push(admitted);
      });
    } else this.#begin();
    try {
      const answer = await request();
      this.#hold(answer.length);
      return answer;
    } finally {
      this.asking--;
      this.#whole.ask(-1);
      this.#whole.freed();
    }
  }

  /** Starts the oldest waiting request. */
  admit(): void {
    const begin = this.#waiting.shift();
    if (!begin) return;
    this.#begin();
    begin();
  }

  /** Releases bytes that are stored now. */
  release(bytes: number): void {
    this.#hold(-Math.min(bytes, this.bytes));
    this.#whole.freed();
  }

  /** Releases everything. Answers that arrive later no longer count. */
  leave(): void {
    this.#hold(-this.bytes);
    this.#hasLeft = true;
    this.#whole.left(this);
    this.#whole.freed();
  }

  #begin(): void {
    this.asking++;
    this.#whole.ask(1);
  }

  #hold(bytes: number): void {
    if (this.#hasLeft) return;
    this.bytes += bytes;
    this.#whole.hold(bytes);
  }
}
