import type { FastifyReply, FastifyRequest } from 'fastify';
import { PendingBytes } from '../../../aggregate/alerts/processor/pending-bytes.ts';
import { countedAddress } from '../../http/client-address.ts';
import { HttpError, RETRY_SOON } from '../../http/errors.ts';

const BYTES_MAX = 64 * 2 ** 20;

/**
 * Bodies that are read before their sender is known, because the key or a signature is in them or of them. Many senders
 * may each begin one and never end it: an address may hold so much that a fifth is left to the others.
 */
export class UnprovedBodies {
  readonly #reading = new PendingBytes<string>(BYTES_MAX);

  /** Called before a body is read; refuses the request if its address has no room. */
  admit(request: FastifyRequest, reply: FastifyReply, bytesMax: number): void {
    const address = countedAddress(request);
    if (this.#reading.isFull(address))
      throw new HttpError('overloaded', 'Too many bodies are being read. Retry the request.', RETRY_SOON);
    const bytes = Math.min(Number(request.headers['content-length'] ?? bytesMax), bytesMax);
    this.#reading.add(address, bytes);
    // Also when the connection breaks off, after which Fastify calls no hook.
    reply.raw.once('close', () => this.#reading.remove(address, bytes));
  }
}
