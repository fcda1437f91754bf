/** Limits of all chains of a process together. */
interface ShareLimits {
  /** Concurrent requests. */
  readonly requestsMax: number;
  /** Bytes of answers that are not stored yet. Excludes the answers of requests in progress. */
  readonly bytesMax: number;
}

/**
 * Shares requests and memory equally among chains, so that a slow source takes nothing from the others. The memory limit
 * never stops a chain that holds nothing.
 *
 * `Admission` does not fit: it gives one caller at most half of the slots and rejects late requests. A single chain must be
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
      canAsk: (member) => this.#canAsk(member),
      addRequests: (count) => {
        this.#asking += count;
      },
      addBytes: (bytes) => {
        this.#bytes += bytes;
      },
      onFreed: () => this.#admit(),
      onLeave: (member) => this.#members.delete(member),
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

/** The totals of all members, as one member sees and changes them. */
interface SharedTotals {
  canAsk(member: ShareMember): boolean;
  /** Adds to the requests in progress. */
  addRequests(count: 1 | -1): void;
  addBytes(bytes: number): void;
  onFreed(): void;
  onLeave(member: ShareMember): void;
}

/** The share of one chain. */
export class ShareMember {
  /** Requests in progress. */
  asking = 0;
  /** Bytes of answers that are not stored yet. */
  bytes = 0;
  readonly #totals: SharedTotals;
  readonly #waiting: (() => void)[] = [];
  #hasLeft = false;

  constructor(totals: SharedTotals) {
    this.#totals = totals;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Calls `request` when the share allows it. The bytes of the answer count until they are released. */
  async ask<Answer extends { readonly length: number }>(request: () => Promise<Answer>): Promise<Answer> {
    if (this.isWaiting || !this.#totals.canAsk(this)) {
      await new Promise<void>((admitted) => {
        this.#waiting.push(admitted);
      });
    } else this.#begin();
    try {
      const answer = await request();
      this.#addBytes(answer.length);
      return answer;
    } finally {
      this.asking--;
      this.#totals.addRequests(-1);
      this.#totals.onFreed();
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
    this.#addBytes(-Math.min(bytes, this.bytes));
    this.#totals.onFreed();
  }

  /** Releases everything. Answers that arrive later no longer count. */
  leave(): void {
    this.#addBytes(-this.bytes);
    this.#hasLeft = true;
    this.#totals.onLeave(this);
    this.#totals.onFreed();
  }

  #begin(): void {
    this.asking++;
    this.#totals.addRequests(1);
  }

  #addBytes(bytes: number): void {
    if (this.#hasLeft) return;
    this.bytes += bytes;
    this.#totals.addBytes(bytes);
  }
}
