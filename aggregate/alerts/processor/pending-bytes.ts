/** A project may hold so many times what is free: four fifths of all where it is alone, less the more others hold. */
const TIMES_FREE = 4;

/**
 * The bytes of alerts that wait for the store. A project is full before all are: however many flood, what is accepted of
 * them leaves room for one that does not. What another process accepted is added without being asked.
 *
 * Not `Admission`, where requests wait: a sender repeats a refused alert, and accepted ones are stored in their order.
 */
export class PendingBytes {
  readonly #bytesMax: number;
  readonly #ofProject = new Map<number, number>();
  #total = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get total(): number {
    return this.#total;
  }

  /** Whether all projects together hold more than is allowed. */
  get areTooMany(): boolean {
    return this.#total > this.#bytesMax;
  }

  /** Whether nothing more may be accepted of a project. */
  isFull(project: number): boolean {
    return (this.#ofProject.get(project) ?? 0) > TIMES_FREE * (this.#bytesMax - this.#total);
  }

  add(project: number, bytes: number): void {
    const held = (this.#ofProject.get(project) ?? 0) + bytes;
    this.#total += bytes;
    if (held > 0) this.#ofProject.set(project, held);
    else this.#ofProject.delete(project);
  }

  remove(project: number, bytes: number): void {
    this.add(project, -bytes);
  }
}
