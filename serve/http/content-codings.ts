import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import { Negotiator } from '@fastify/accept-negotiator';
import type { FastifyInstance } from 'fastify';
import { leaveLengthOut } from './head-length.ts';

/** How the bytes of an answer are coded (RFC 9110 §8.4.1). */
export type ContentCoding = 'zstd' | 'br' | 'gzip' | 'identity';

/** Of codings that a client likes equally, the first is sent. */
const CODINGS = ['zstd', 'br', 'gzip', 'identity'] as const satisfies readonly ContentCoding[];
/** A shorter answer fits in the packet that its headers are in. */
const BYTES_MIN = 1024;
/** Of what is compressed for each version of the data: beyond it Brotli takes ten times as long for a tenth less. */
const BROTLI_QUALITY = 4;
/** Of what is compressed once, by Brotli and by zstd. */
const CONSTANT_QUALITY = 9;
const CONSTANT_LEVEL = 19;

/** Compresses each answer of the routes that are added to a scope afterwards; none may hold a secret. */
export async function compressAnswers(scope: FastifyInstance): Promise<void> {
  leaveLengthOut(
    scope,
    ({ headers }, reply) => headers['accept-encoding'] !== undefined && !reply.hasHeader('content-encoding'),
  );
  await scope.register(import('@fastify/compress'), { ...OFFERED, globalDecompression: false });
}

/** Lets the routes that are added to a scope afterwards send an answer by `reply.compress`. */
export async function offerCompression(scope: FastifyInstance): Promise<void> {
  await scope.register(import('@fastify/compress'), { ...OFFERED, global: false });
}

const OFFERED = { encodings: [...CODINGS], threshold: BYTES_MIN };

// @fastify/compress keeps nothing: a year of rows took it 1 to 3 ms for each request, and 0.1 ms is what it takes to send
// them. So what is cached, or never changes, is compressed once and sent with its Content-Encoding, which the plugin
// passes on.

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

/** Compresses in another thread. */
export const compress = (body: Buffer, coding: ContentCoding): Promise<Buffer> => compressors[coding](body);

/** Compresses in another thread what never changes, as small as that takes little time. */
export const compressConstant = (body: Buffer, coding: ContentCoding): Promise<Buffer> =>
  constantCompressors[coding](body);

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
