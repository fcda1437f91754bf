import { InvalidArgumentError } from 'commander';

/** An address of the web, as an option gives it. */
export function parseUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError('It is no address such as http://127.0.0.1:8080.');
}
