import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptedCoding, type ContentCoding, codingOf, compressConstant } from './content-codings.ts';
import { matchesEtag } from './entity-tags.ts';

/** A response that never changes while the process runs. The first request renders and compresses it. */
export class ConstantAnswer {
  readonly #make: () => string | Uint8Array;
  readonly #headers: Readonly<Record<'content-type' | 'cache-control', string>>;
  readonly #coded = new Map<ContentCoding, Promise<Buffer>>();
  #made: { readonly body: Buffer; readonly version: string } | undefined;

  constructor(make: () => string | Uint8Array, type: string, cacheControl: string) {
    this.#make = make;
    this.#headers = { 'content-type': type, 'cache-control': cacheControl };
  }

  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { body, version } = this.#body();
    const coding = codingOf(acceptedCoding(request.headers['accept-encoding']), '', body);
    const etag = `"${version}-${coding}"`;
    reply.headers({ ...this.#headers, vary: 'Accept-Encoding', etag });
    if (matchesEtag(request, etag)) return reply.code(304).send();
    if (coding !== 'identity') reply.header('content-encoding', coding);
    return reply.send(await this.#in(coding, body));
  }

  #body() {
    if (this.#made) return this.#made;
    const body = Buffer.from(this.#make() as string);
    this.#made = { body, version: hash('sha256', body, 'hex').slice(0, 16) };
    return this.#made;
  }

  #in(coding: ContentCoding, body: Buffer): Promise<Buffer> {
    let coded = this.#coded.get(coding);
    if (!coded) {
      coded = compressConstant(body, coding);
      this.#coded.set(coding, coded);
      coded.catch(() => this.#coded.delete(coding));
    }
    return coded;
  }
}

/** Constant JSON that clients revalidate on each use, because another version of the program serves another document. */
export const constantJson = (make: () => unknown): ConstantAnswer =>
  new ConstantAnswer(() => JSON.stringify(make()), 'application/json; charset=utf-8', 'no-cache');
