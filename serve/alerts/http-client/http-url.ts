import { RequestRefused } from '../model/access.ts';

const URL_CHARACTERS_MAX = 2000;

/** Requires an http or https URL without credentials. */
export function requireHttpUrl(text: string, field: string): void {
  const url = URL.parse(text);
  const isHttp = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (!isHttp || text.length > URL_CHARACTERS_MAX) {
    throw new RequestRefused('bad_request', 'Enter an http or https URL without credentials.', field);
  }
}
