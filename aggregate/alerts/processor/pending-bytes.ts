/** Each owner may hold four times the free rest: four fifths of all if it is alone. */
const TIMES_FREE = 4;

/**
 * Bytes in memory by owner. Floods of some owners leave room for others, because each may hold a multiple of the free
 * rest. Bytes that another process accepted are added without a check.
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
