import type { z } from 'zod';

/** Messages of API errors and dead letters, for schemas without messages of their own. */
export const shapeError: z.core.$ZodErrorMap = (issue) => {
  if (issue.input === undefined) return 'missing';
  switch (issue.code) {
    case 'invalid_type':
      return NOT[issue.expected];
    case 'invalid_value':
      return `not one of ${issue.values.join(', ')}`;
    case 'too_big':
      return issue.inclusive ? `more than ${issue.maximum}${UNITS[issue.origin] ?? ''}` : undefined;
    case 'too_small':
      return issue.inclusive ? `less than ${issue.minimum}${UNITS[issue.origin] ?? ''}` : undefined;
    default:
      return undefined;
  }
};

/** The first issue in one line: its path and its message. */
export function firstFault({ issues: [issue] }: z.ZodError): string {
  return `${issue?.path.join('.') || 'document'}: ${issue?.message}`;
}

const NOT: Readonly<Record<string, string>> = {
  array: 'not a list',
  boolean: 'not true or false',
  int: 'not an integer',
  number: 'not a number',
  object: 'not an object',
  record: 'not an object',
  string: 'not text',
};

const UNITS: Readonly<Record<string, string>> = { array: ' values', string: ' characters' };
