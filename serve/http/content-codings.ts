import { pipeline, type Readable, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  zstdCompress,
} from 'node:zlib';
import { Negotiator } from '@fastify/accept-negotiator';

// Rows of metrics repeat so much that the fastest level of zstd and Brotli makes them as small as slower ones do.

/** How the bytes of an answer are coded (RFC 9110 §8.4.1). */
export type ContentCoding = 'zstd' | 'br' | 'gzip' | 'identity';

type Compressed = Exclude<ContentCoding, 'identity'>;

/** Far longer than the header of any client. */
const HEADER_CHARS_MAX = 1000;
/** A shorter answer fits in the packet that its headers are in. */
const BYTES_MIN = 1024;

/** What chooses for an `Accept-Encoding` header the coding that it prefers; of equals the first that is offered. */
export function codingChooser<Coding extends string>(
  offered: readonly [...Coding[], 'identity'],
): (header: string | undefined) => Coding | 'identity' {
  const codings = new Negotiator<Coding | 'identity'>({ supportedValues: [...offered] });
  return (header) => {
    if (header === undefined || header.length > HEADER_CHARS_MAX) return 'identity';
    return codings.negotiate(withoutWildcard(header.toLowerCase(), offered)) ?? 'identity';
  };
}

/** The coding that an `Accept-Encoding` header prefers; of equals the one that costs and weighs least. */
export const acceptedCoding = codingChooser<Compressed>(['zstd', 'br', 'gzip', 'identity']);

/**
 * `*` stands for every coding that the header does not name (RFC 9110 §12.5.3). The negotiator would take it for the
 * first that there is, also where the header refuses that one.
 */
function withoutWildcard(header: string, offered: readonly string[]): string {
  if (!header.includes('*')) return header;
  const items = header.split(',').map((item) => item.trim());
  const named = new Set(items.map((item) => item.split(';', 1)[0]?.trim()));
  const others = offered.filter((coding) => !named.has(coding));
  return items
    .flatMap((item) => (item.startsWith('*') ? others.map((coding) => coding + item.slice(1)) : [item]))
    .join(',');
}

const [compressZstd, compressBrotli, compressGzip] = [
  promisify(zstdCompress),
  promisify(brotliCompress),
  promisify(gzip),
];
const OPTIONS = {
  zstd: { params: { [constants.ZSTD_c_compressionLevel]: 1 } },
  br: { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } },
  gzip: { level: 4 },
} as const;
const compressors: Readonly<Record<Compressed, (body: Buffer) => Promise<Buffer>>> = {
  zstd: (body) => compressZstd(body, OPTIONS.zstd),
  br: (body) => compressBrotli(body, OPTIONS.br),
  gzip: (body) => compressGzip(body, OPTIONS.gzip),
};
const streams: Readonly<Record<Compressed, () => Transform>> = {
  zstd: () => createZstdCompress(OPTIONS.zstd),
  br: () => createBrotliCompress(OPTIONS.br),
  gzip: () => createGzip(OPTIONS.gzip),
};

/** The coding in which a body is sent to a client that prefers this one. Parquet files are compressed inside. */
export const codingOf = (preferred: ContentCoding, format: string, body: Buffer): ContentCoding =>
  format === 'parquet' || body.length < BYTES_MIN ? 'identity' : preferred;

/** Compresses a file while it is read; what goes wrong with either ends both. */
export const compressing = (file: Readable, coding: Compressed): Transform =>
  pipeline(file, streams[coding](), () => {});

/** Compresses in another thread. */
export const compress = (body: Buffer, coding: Compressed): Promise<Buffer> => compressors[coding](body);
