import type { FastifyRequest } from 'fastify';

/** Returns true if `If-None-Match` matches the ETag, so that the answer is 304 (RFC 9110 §13.1.2). */
export function matchesEtag({ headers }: Pick<FastifyRequest, 'headers'>, etag: string): boolean {
  const header = headers['if-none-match'];
  if (header === undefined) return false;
  if (header === etag || header === '*') return true;
  return header.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
}
