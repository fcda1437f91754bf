import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import { Negotiator } from '@fastify/accept-negotiator';
import type { FastifyInstance } from 'fastify';
import { omitContentLength } from './content-length.ts';

/** Content codings (RFC 9110 §8.4.1). */
export type ContentCoding = 'zstd' | 'br' | 'gzip' | 'identity';

/** In order of preference, for codings of equal quality in `Accept-Encoding`. */
const CODINGS = ['zstd', 'br', 'gzip', 'identity'] as const satisfies readonly ContentCoding[];
/** A shorter body fits into the packet of its headers. */
const BYTES_MIN = 1024;
/** For bodies that change with the data. Higher levels take ten times as long and save a tenth. */
const BROTLI_QUALITY = 4;
/** For bodies that never change: levels of Brotli and of zstd. */
const CONSTANT_QUALITY = 9;
const CONSTANT_LEVEL = 19;

/** Compresses the responses of routes that are added later. They must not contain secrets (BREACH). */
export async function compressAnswers(scope: FastifyInstance): Promise<void> {
  omitContentLength(
    scope,
    ({ headers }, reply) => headers['accept-encoding'] !== undefined && !reply.hasHeader('content-encoding'),
  );
  await scope.register(import('@fastify/compress'), { ...OFFERED, globalDecompression: false });
}

/** Adds `reply.compress` to routes that are added later. */
export async function offerCompression(scope: FastifyInstance): Promise<void> {
  await scope.register(import('@fastify/compress'), { ...OFFERED, global: false });
}

const OFFERED = { encodings: [...CODINGS], threshold: BYTES_MIN };

// @fastify/compress caches nothing: a year of rows takes it 1 to 3 ms per request, and sending them takes 0.1 ms. Cached
// and constant bodies are therefore compressed once; the plugin passes on responses that have a Content-Encoding.

type Compressors = Readonly<Record<ContentCoding, (body: Buffer) => Promise<Buffer>>>;

const compressors: Compressors = {
  zstd: promisify<Buffer, Buffer>(zstdCompress),
  br: (body) => byBrotli(body, BROTLI_QUALITY),
  gzip: promisify<Buffer, Buffer>(gzip),
  identity: async (body) => body,
};
const constantCompressors: Compressors = {
  ...compressors,
  zstd: (body) =>
    promisify(zstdCompress)(body, { params: { [constants.ZSTD_c_compressionLevel]: CONSTANT_LEVEL } }),
  br: (body) => byBrotli(body, CONSTANT_QUALITY),
};

const byBrotli = (body: Buffer, quality: number): Promise<Buffer> =>
  promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } });

/** Compresses in the libuv thread pool. */
export const compress = (body: Buffer, coding: ContentCoding): Promise<Buffer> => compressors[coding](body);

/** Compresses a body that never changes, at a higher level. */
export const compressConstant = (body: Buffer, coding: ContentCoding): Promise<Buffer> =>
  constantCompressors[coding](body);

const negotiator = new Negotiator<ContentCoding>({ supportedValues: [...CODINGS] });
/** Far longer than any client sends. */
const HEADER_CHARS_MAX = 1000;

/** The coding that `Accept-Encoding` prefers. As in the plugin, `*` means gzip unless the header names gzip. */
export function acceptedCoding(header: string | string[] | undefined): ContentCoding {
  if (typeof header !== 'string' || header.length > HEADER_CHARS_MAX) return 'identity';
  const named = header.toLowerCase();
  const wildcard = named.includes('gzip') ? '' : 'gzip';
  return negotiator.negotiate(named.replaceAll('*', wildcard)) ?? 'identity';
}

/** The coding for a body: `preferred`, except for short bodies and for Parquet, which is compressed already. */
export const codingOf = (preferred: ContentCoding, format: string, body: Buffer): ContentCoding =>
  format === 'parquet' || body.length < BYTES_MIN ? 'identity' : preferred;
