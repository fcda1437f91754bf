import { InvalidArgumentError } from 'commander';

/** A whole number of an option, strictly. */
export function parseHeight(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('not a whole number');
}
