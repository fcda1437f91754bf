/** A line or an error for each height of a batch, in order. */
export interface BatchLines {
  readonly lines: readonly (Buffer | Error)[];
  /** Size of the node's answers. */
  readonly bytes: number;
}

interface WaitingBlock {
  readonly number: number;
  readonly timeoutFactor: number;
  readonly resolve: (line: Buffer) => void;
  readonly reject: (error: unknown) => void;
}

/** Heights per batch. A larger batch is hardly faster, and a public node may refuse it. */
const HEIGHTS_MAX = 64;
const BATCHES_AT_ONCE = 4;
/** Nodes truncate answers at 10 or 15 MB. */
const BYTES_WANTED = 4 * 2 ** 20;

/**
 * Groups calls for single blocks into batches, because a batch needs few requests. A block waits for a full batch only
 * while another batch is read.
 */
export class BlockBatcher {
  readonly #read: (numbers: readonly number[], timeoutFactor: number) => Promise<BatchLines>;
  #waiting: WaitingBlock[] = [];
  #reading = 0;
  #isScheduled = false;
  #heights = HEIGHTS_MAX;

  constructor(read: (numbers: readonly number[], timeoutFactor: number) => Promise<BatchLines>) {
    this.#read = read;
  }

  block(number: number, timeoutFactor: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ number, timeoutFactor, resolve, reject });
      this.#schedule();
    });
  }

  /** Runs after all calls of this turn of the event loop. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#begin();
    });
  }

  #begin(): void {
    this.#waiting.sort((a, b) => a.number - b.number);
    const isFull = () => this.#waiting.length >= this.#heights && this.#reading < BATCHES_AT_ONCE;
    while (isFull() || (this.#reading === 0 && this.#waiting.length > 0)) {
      this.#reading++;
      void this.#readBatch(this.#waiting.splice(0, this.#heights)).finally(() => {
        this.#reading--;
        this.#schedule();
      });
    }
  }

  async #readBatch(blocks: readonly WaitingBlock[]): Promise<void> {
    try {
      const timeoutFactor = Math.max(...blocks.map((block) => block.timeoutFactor));
      const { lines, bytes } = await this.#read(
        blocks.map(({ number }) => number),
        timeoutFactor,
      );
      const wanted = Math.floor((BYTES_WANTED * blocks.length) / Math.max(1, bytes));
      this.#heights = Math.max(1, Math.min(HEIGHTS_MAX, this.#heights * 2, wanted));
      for (const [i, { resolve, reject }] of blocks.entries()) {
        const line = lines[i];
        if (line instanceof Buffer) resolve(line);
        else reject(line);
      }
    } catch (error) {
      for (const { reject } of blocks) reject(error);
    }
  }
}
