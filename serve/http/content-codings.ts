import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import { Negotiator } from '@fastify/accept-negotiator';
import compressPlugin from '@fastify/compress';
import type { FastifyInstance } from 'fastify';
import { leaveLengthOut } from './head-length.ts';

/** How the bytes of an answer are coded (RFC 9110 §8.4.1). */
export type ContentCoding = 'zstd' | 'br' | 'gzip' | 'identity';

/** Of codings that a client likes equally, the first is sent. */
const CODINGS = ['zstd', 'br', 'gzip', 'identity'] as const satisfies readonly ContentCoding[];
/** A shorter answer fits in the packet that its headers are in. */
const BYTES_MIN = 1024;
/** Beyond it Brotli takes ten times as long for a tenth less. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** Compresses each answer of the routes that are added to a scope afterwards; none may hold a secret. */
export async function compressAnswers(scope: FastifyInstance): Promise<void> {
  leaveLengthOut(
    scope,
    ({ headers }, reply) => headers['accept-encoding'] !== undefined && !reply.hasHeader('content-encoding'),
  );
  await scope.register(compressPlugin, { ...OFFERED, globalDecompression: false });
}

/** Lets the routes that are added to a scope afterwards send an answer by `reply.compress`. */
export async function offerCompression(scope: FastifyInstance): Promise<void> {
  await scope.register(compressPlugin, { ...OFFERED, global: false });
}

const OFFERED = { encodings: [...CODINGS], threshold: BYTES_MIN };

// @fastify/compress keeps nothing: a year of rows took it 1 to 3 ms for each request, and 0.1 ms is what it takes to send
// them. So what is cached, or never changes, is compressed once and sent with its Content-Encoding, which the plugin
// passes on.

const compressors: Readonly<Record<ContentCoding, (body: Buffer) => Promise<Buffer>>> = {
  zstd: promisify<Buffer, Buffer>(zstdCompress),
  br: (body) => promisify(brotliCompress)(body, BROTLI),
  gzip: promisify<Buffer, Buffer>(gzip),
  identity: async (body) => body,
};

/** Compresses in another thread. */
export const compress = (body: Buffer, coding: ContentCoding): Promise<Buffer> => compressors[coding](body);

const negotiator = new Negotiator<ContentCoding>({ supportedValues: [...CODINGS] });
/** Far longer than the header of any client. */
const HEADER_CHARS_MAX = 1000;

/** The coding that an `Accept-Encoding` header prefers; `*` is gzip, as for the plugin, unless gzip is named. */
export function acceptedCoding(header: string | string[] | undefined): ContentCoding {
  if (typeof header !== 'string' || header.length > HEADER_CHARS_MAX) return 'identity';
  const named = header.toLowerCase();
  const wildcard = named.includes('gzip') ? '' : 'gzip';
  return negotiator.negotiate(named.replaceAll('*', wildcard)) ?? 'identity';
}

/** The coding in which a body is sent to a client that prefers this one. Parquet files are compressed inside. */
export const codingOf = (preferred: ContentCoding, format: string, body: Buffer): ContentCoding =>
  format === 'parquet' || body.length < BYTES_MIN ? 'identity' : preferred;
