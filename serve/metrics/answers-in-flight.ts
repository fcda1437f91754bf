import type { ServerResponse } from 'node:http';
import { ProductError } from '../../infra/errors.ts';

/** Shorter bodies are not counted: the connection limit bounds their number. */
const SHORT_BYTES = 2 ** 18;
/** A body with at most this many rows is never long. */
const SHORT_ROWS = 256;

/** For one answer: how many responses with it are being sent to each caller. */
type ReadersOf = Map<string, number>;

/**
 * Responses that are being sent. Requests for the same response share its bytes, and the total is limited. A caller that
 * holds half of the limit gets no further long response, so slow readers cannot make the store render more of them.
 *
 * `Admission` cannot do this: it frees a slot when the query ends, but the bytes stay until the reader has taken them.
 */
export class AnswersInFlight<Answer extends { readonly body: Buffer }> {
  readonly #bytesMax: number;
  readonly #byKey = new Map<string, Answer>();
  readonly #readers = new Map<Answer, ReadersOf>();
  /** Bytes in flight by caller. */
  readonly #bytesByCaller = new Map<string, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  find(key: string): Answer | undefined {
    return this.#byKey.get(key);
  }

  /** Throws if a long answer would exceed the limit. Short ones always pass. */
  requireRoom({ body }: Answer): void {
    if (body.length <= SHORT_BYTES || this.#bytes + body.length <= this.#bytesMax) return;
    throw new ProductError(
      'store_busy',
      'too many long responses are being sent; try again later or request fewer rows',
      `${this.#bytes} bytes`,
    );
  }

  /** Throws before a query of many rows if each of its callers holds half of the limit already. */
  requireCallerShare(callers: Iterable<string>, rowsMax = Number.POSITIVE_INFINITY): void {
    if (rowsMax <= SHORT_ROWS) return;
    for (const caller of callers) if ((this.#bytesByCaller.get(caller) ?? 0) < this.#bytesMax / 2) return;
    throw new ProductError(
      'store_busy',
      'your earlier long responses are still being sent; read them to the end and try again',
      `${this.#bytes} bytes`,
    );
  }

  /** Counts an answer until it is sent or its reader disconnects. */
  hold(key: string, answer: Answer, caller: string, response: ServerResponse): void {
    // A reader that has disconnected already emits no `close`, so the answer would never be released.
    if (response.closed) return;
    const readers = this.#readers.get(answer) ?? new Map<string, number>();
    if (readers.size === 0) {
      this.#bytes += answer.body.length;
      this.#byKey.set(key, answer);
      this.#readers.set(answer, readers);
    }
    if (add(readers, caller, 1) === 1) add(this.#bytesByCaller, caller, answer.body.length);
    response.once('close', () => this.#release(key, answer, caller));
  }

  #release(key: string, answer: Answer, caller: string): void {
    const readers = this.#readers.get(answer);
    if (readers === undefined) return;
    if (add(readers, caller, -1) === 0) add(this.#bytesByCaller, caller, -answer.body.length);
    if (readers.size > 0) return;
    this.#readers.delete(answer);
    this.#bytes -= answer.body.length;
    if (this.#byKey.get(key) === answer) this.#byKey.delete(key);
  }
}

function add(counts: Map<string, number>, key: string, by: number): number {
  const next = (counts.get(key) ?? 0) + by;
  if (next > 0) counts.set(key, next);
  else counts.delete(key);
  return next;
}
