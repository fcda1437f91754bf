import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptedCoding, type ContentCoding, codingOf, compress } from './content-codings.ts';
import { hasAnswer } from './entity-tags.ts';

/** JSON that stays the same while the process runs: it is written and compressed once, when the first client asks. */
export class UnchangingAnswer {
  readonly #make: () => unknown;
  readonly #coded = new Map<ContentCoding, Promise<Buffer>>();
  #made: { readonly body: Buffer; readonly version: string } | undefined;

  constructor(make: () => unknown) {
    this.#make = make;
  }

  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { body, version } = this.#text();
    const accepted = acceptedCoding(request.headers['accept-encoding'] as string | undefined);
    const coding = codingOf(accepted, 'json', body);
    const etag = `"${version}-${coding}"`;
    reply.header('vary', 'Accept-Encoding').header('etag', etag).header('cache-control', 'no-cache');
    if (hasAnswer(request, etag)) return reply.code(304).send();
    if (coding !== 'identity') reply.header('content-encoding', coding);
    return reply.type('application/json; charset=utf-8').send(await this.#in(coding, body));
  }

  #text() {
    if (this.#made) return this.#made;
    const body = Buffer.from(JSON.stringify(this.#make()));
    this.#made = { body, version: hash('sha256', body, 'hex').slice(0, 16) };
    return this.#made;
  }

  #in(coding: ContentCoding, body: Buffer): Promise<Buffer> {
    if (coding === 'identity') return Promise.resolve(body);
    let coded = this.#coded.get(coding);
    if (!coded) {
      coded = compress(body, coding);
      this.#coded.set(coding, coded);
      coded.catch(() => this.#coded.delete(coding));
    }
    return coded;
  }
}
