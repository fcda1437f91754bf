import { InvalidArgumentError } from 'commander';

/** A whole number of an option, strictly. */
export function parseHeight(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is not a whole number.');
}

/** A whole number between two others, both of them included. */
export const parseWithin = (least: number, most: number) => (text: string) => {
  const value = parseHeight(text);
  if (value >= least && value <= most) return value;
  throw new InvalidArgumentError(`It is not between ${least} and ${most}.`);
};
