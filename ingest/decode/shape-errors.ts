import type { z } from 'zod';

/** What is wrong with a field, in the words of a dead letter, where its schema has none of its own. */
export const shapeError: z.core.$ZodErrorMap = (issue) => {
  if (issue.input === undefined) return 'missing';
  return issue.code === 'invalid_type' ? NOT[issue.expected] : undefined;
};

const NOT: Readonly<Record<string, string>> = {
  array: 'not a list',
  boolean: 'not true or false',
  int: 'not an integer',
  number: 'not a number',
  object: 'not an object',
  record: 'not an object',
  string: 'not text',
};
