/** An owner may hold so many times what is free: four fifths of all where it is alone, less the more others hold. */
const TIMES_FREE = 4;

/**
 * Bytes in memory by owner, such as the alerts of projects that wait for the store. An owner is full before all are:
 * however many flood, what is accepted of them leaves room for one that does not. What another process accepted is added
 * without being asked.
 *
 * Not `Admission`, where requests wait: a sender repeats a refused alert, and accepted ones are stored in their order.
 */
export class PendingBytes<Owner = number> {
  readonly #bytesMax: number;
  readonly #byOwner = new Map<Owner, number>();
  #total = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get total(): number {
    return this.#total;
  }

  /** Whether all owners together hold more than is allowed. */
  get areTooMany(): boolean {
    return this.#total > this.#bytesMax;
  }

  /** Whether nothing more may be accepted of an owner. */
  isFull(owner: Owner): boolean {
    return (this.#byOwner.get(owner) ?? 0) > TIMES_FREE * (this.#bytesMax - this.#total);
  }

  add(owner: Owner, bytes: number): void {
    const held = (this.#byOwner.get(owner) ?? 0) + bytes;
    this.#total += bytes;
    if (held > 0) this.#byOwner.set(owner, held);
    else this.#byOwner.delete(owner);
  }

  remove(owner: Owner, bytes: number): void {
    this.add(owner, -bytes);
  }
}
