import formbody from '@fastify/formbody';
import type { FastifyInstance } from 'fastify';
import { HttpError } from './errors.ts';

/** Decoded form fields or query parameters. */
export class Form extends URLSearchParams {
  /** The value of a field; '' when it is absent. The first value when the field was sent more than once. */
  text(name: string): string {
    return this.get(name) ?? '';
  }

  /** Names of the fields that were sent more than once. */
  repeated(): string[] {
    return [...new Set(this.keys())].filter((name) => this.getAll(name).length > 1);
  }
}

export const EMPTY_FORM = new Form();

/** Far more than any form needs. */
const FIELDS_MAX = 200;

/**
 * Parses `application/x-www-form-urlencoded` text. `URLSearchParams` replaces malformed input with U+FFFD, which would
 * alter a password or a code. Malformed input is therefore rejected with status 400.
 */
export function parseForm(text: string): Form {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    throw new HttpError('bad_request', 'The parameters must be percent-encoded UTF-8.');
  }
  // The body decoder has replaced bytes that are not UTF-8 with U+FFFD.
  if (text.includes('\ufffd')) throw new HttpError('bad_request', 'The parameters must be UTF-8.');
  if (decoded.includes('\0'))
    throw new HttpError('bad_request', 'The parameters must not contain a zero byte.');
  // `URLSearchParams` drops a leading `?`; a leading `&` keeps it as part of the first name.
  const form = new Form(`&${text}`);
  if (form.size > FIELDS_MAX) throw new HttpError('bad_request', `Send at most ${FIELDS_MAX} parameters.`);
  return form;
}

/** Makes the scope accept only form-encoded bodies, parsed as `Form`. */
export async function acceptForms(app: FastifyInstance, options: { bodyLimit?: number } = {}): Promise<void> {
  app.removeAllContentTypeParsers();
  await app.register(formbody, {
    ...options,
    parser: (text) => parseForm(text) as unknown as Record<string, unknown>,
  });
}
