/** Each owner may use four times the free bytes. For a single owner that is four fifths of all bytes. */
const TIMES_FREE = 4;

/**
 * Counts bytes in memory by owner. The limit of an owner is a multiple of the free bytes, so that floods of some owners
 * leave room for others. Bytes that another process accepted are added without a check.
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

  /** Whether all owners together exceed the limit. */
  get isOverLimit(): boolean {
    return this.#total > this.#bytesMax;
  }

  /** Whether an owner exceeds its share. */
  isFull(owner: Owner): boolean {
    return (this.#byOwner.get(owner) ?? 0) > TIMES_FREE * (this.#bytesMax - this.#total);
  }

  add(owner: Owner, bytes: number): void {
    const used = (this.#byOwner.get(owner) ?? 0) + bytes;
    this.#total += bytes;
    if (used > 0) this.#byOwner.set(owner, used);
    else this.#byOwner.delete(owner);
  }

  remove(owner: Owner, bytes: number): void {
    this.add(owner, -bytes);
  }
}
