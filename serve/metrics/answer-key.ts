import type { FastifyRequest } from 'fastify';
import { acceptedCoding, type ContentCoding } from '../http/content-codings.ts';
import { acceptedFormat } from './response-formats.ts';

/** Cache keys of a response: uncompressed (`rendered`), and in the coding that the client prefers (`coded`). */
export interface AnswerKey {
  readonly rendered: string;
  readonly coded: string;
  readonly coding: ContentCoding;
}

/** The key contains the URL, the format that `Accept` selects, and the content coding. */
export function answerKey({ url, headers }: Pick<FastifyRequest, 'url' | 'headers'>): AnswerKey {
  const { accept } = headers;
  const rendered = accept === undefined || accept === '*/*' ? url : `${url}\n${acceptedFormat(accept)}`;
  const coding = acceptedCoding(headers['accept-encoding']);
  return { rendered, coding, coded: coding === 'identity' ? rendered : `${rendered}\n${coding}` };
}
