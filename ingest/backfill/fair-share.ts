/** What all chains of a process together may ask for, and hold of what was answered. */
interface ShareLimits {
  /** Requests at a time. */
  readonly requestsMax: number;
  /** Bytes of answers that are not stored yet; those of requests under way come on top. */
  readonly bytesMax: number;
}

/**
 * Shares requests and memory among chains: each may have as many requests under way as the others, so that one whose
 * source is slow takes nothing from them. A chain that holds nothing may always ask, whatever the others hold.
 *
 * Not `Admission`, which refuses what waits too long and lets one caller have half of the places: a backfill of one chain
 * has to use all of them, and waits as long as it takes.
 */
export class FairShare {
  readonly #limits: ShareLimits;
  readonly #members = new Set<ShareMember>();
  #asking = 0;
  #bytes = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** A part for one chain, until it leaves. */
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

  /** Whoever has the fewest requests under way comes first. */
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

/** The part of one chain. */
export class ShareMember {
  /** Requests under way. */
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

  /** Asks when it may; the bytes of the answer are held until they are released. */
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

  /** Lets the request begin that has waited longest. */
  admit(): void {
    const begin = this.#waiting.shift();
    if (!begin) return;
    this.#begin();
    begin();
  }

  /** Bytes that are stored by now. */
  release(bytes: number): void {
    this.#hold(-Math.min(bytes, this.bytes));
    this.#whole.freed();
  }

  /** Gives everything back; what still comes is thrown away by its reader. */
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
