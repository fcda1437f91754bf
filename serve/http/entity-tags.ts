import type { FastifyRequest } from 'fastify';

/** Whether the caller has the answer with this `ETag` already (RFC 9110 §13.1.2). */
export function hasAnswer({ headers }: Pick<FastifyRequest, 'headers'>, etag: string): boolean {
  const given = headers['if-none-match'];
  if (given === undefined) return false;
  if (given === etag || given === '*') return true;
  return given.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
}
