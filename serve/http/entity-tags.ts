import type { FastifyRequest } from 'fastify';

/** Returns true if `If-None-Match` matches the ETag, so that the answer is 304 (RFC 9110 §13.1.2). */
export function matchesEtag({ headers }: Pick<FastifyRequest, 'headers'>, etag: string): boolean {
  const given = headers['if-none-match'];
  if (given === undefined) return false;
  if (given === etag || given === '*') return true;
  return given.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
}
