import { Batcher } from '../../infra/coordination/batcher.ts';
import { retry } from '../../infra/coordination/retry.ts';
import { ProductError } from '../../infra/errors.ts';
import type { Clock, Store } from '../../infra/ports.ts';
import {
  type DeadLetter,
  type DeadLetterRow,
  deadLetterRow,
  insertDeadLetters,
  ROW_BYTES,
  readAttempts,
} from './dead-letters.ts';

interface DeadLetterQueueOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Bytes of a refused input that are stored with its reason. */
  readonly bytesMax: number;
  /** Called with errors of the store, and when a letter is lost. */
  readonly onFailure: (error: unknown) => void;
}

/** Capacity of the queue in letters of full size. A letter that does not fit is lost, and counted in `lost`. */
const LETTERS_MAX = 256;
const BATCH_BYTES = 4 * 2 ** 20;
const RETRY_MS = 200;
const RETRY_MS_MAX = 10_000;
const RETRY_SECONDS_MAX = 600;

/**
 * Writes dead letters in the background. The caller does not wait and gets no error, since refused input must not delay
 * accepted input.
 */
export class DeadLetterQueue {
  readonly #options: DeadLetterQueueOptions;
  readonly #batcher: Batcher<DeadLetterRow>;
  #bytes = 0;
  #lost = 0;
  #isStopped = false;

  constructor(options: DeadLetterQueueOptions) {
    this.#options = options;
    this.#batcher = new Batcher<DeadLetterRow>((rows) => this.#write(rows), {
      limits: [{ max: BATCH_BYTES, of: sizeOf }],
    });
  }

  /** Number of letters that could not be stored, mostly because the store was unavailable for too long. */
  get lost(): number {
    return this.#lost;
  }

  add(letter: DeadLetter): void {
    const { clock, bytesMax } = this.#options;
    const row = deadLetterRow(letter, clock.now(), bytesMax);
    const size = sizeOf(row);
    if (this.#bytes + size > LETTERS_MAX * (bytesMax + ROW_BYTES)) {
      this.#lost++;
      return;
    }
    this.#bytes += size;
    void this.#batcher
      .add(row)
      .catch(() => {
        this.#lost++;
      })
      .finally(() => {
        this.#bytes -= size;
      });
  }

  /** Writes the queued letters without further retries. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#batcher.drain();
  }

  async #write(rows: readonly DeadLetterRow[]): Promise<[]> {
    const { store, onFailure } = this.#options;
    const attempt = async () => {
      try {
        await insertDeadLetters(store, rows, await readAttempts(store, rows));
      } catch (error) {
        onFailure(error);
        throw error;
      }
    };
    await retry(attempt, {
      waitMs: RETRY_MS,
      waitMsMax: RETRY_MS_MAX,
      secondsMax: RETRY_SECONDS_MAX,
      isFinal: (error) => this.#isStopped || isRefusal(error),
    });
    return [];
  }
}

const sizeOf = ({ bytes, reason }: DeadLetterRow): number =>
  Buffer.byteLength(bytes) + reason.length + ROW_BYTES;

const isRefusal = (error: unknown): boolean =>
  error instanceof ProductError && error.code === 'store_refused';
