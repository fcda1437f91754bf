import type { FastifyReply, FastifyRequest } from 'fastify';
import { PendingBytes } from '../../../aggregate/alerts/processor/pending-bytes.ts';
import { addressKey } from '../../http/client-address.ts';
import { HttpError, RETRY_SOON } from '../../http/errors.ts';

const BYTES_MAX = 64 * 2 ** 20;

/**
 * Bodies that are read before authentication, because the key is in the body or the signature covers it. A sender may
 * never finish a body, so one address may hold at most four fifths of BYTES_MAX.
 */
export class UnauthenticatedBodies {
  readonly #reading = new PendingBytes<string>(BYTES_MAX);

  /** Called before a body is read; refuses the request if its address has no room. */
  admit(request: FastifyRequest, reply: FastifyReply, bytesMax: number): void {
    const address = addressKey(request);
    if (this.#reading.isFull(address))
      throw new HttpError('overloaded', 'Too many bodies are being read. Retry the request.', RETRY_SOON);
    const bytes = Math.min(Number(request.headers['content-length'] ?? bytesMax), bytesMax);
    this.#reading.add(address, bytes);
    // `close` also fires if the connection breaks off; Fastify then calls no hook.
    reply.raw.once('close', () => this.#reading.remove(address, bytes));
  }
}
