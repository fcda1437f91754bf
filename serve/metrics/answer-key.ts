import type { FastifyRequest } from 'fastify';
import { acceptedCoding, type ContentCoding } from '../http/content-codings.ts';
import { acceptedFormat } from './response-formats.ts';

/** The keys of an answer in the cache: of its bytes as they are rendered, and as the client prefers them. */
export interface AnswerKey {
  readonly rendered: string;
  readonly coded: string;
  readonly coding: ContentCoding;
}

/** An answer is known by its URL, by the format where `Accept` names one, and by its coding. */
export function answerKey({ url, headers }: Pick<FastifyRequest, 'url' | 'headers'>): AnswerKey {
  const { accept } = headers;
  const rendered = accept === undefined || accept === '*/*' ? url : `${url}\n${acceptedFormat(accept)}`;
  const coding = acceptedCoding(headers['accept-encoding']);
  return { rendered, coding, coded: coding === 'identity' ? rendered : `${rendered}\n${coding}` };
}
