import { describe, expect, test } from 'vitest';
import {
  requireMatchers,
  requireSelectiveList,
  requireSelectiveMatchers,
} from '../../../../serve/alerts/model/entered-matchers.ts';

const many = (count: number) => Array.from({ length: count }, (_, i) => `a${i}="b"`).join(',');

describe('entered matchers', () => {
  test.each([
    ['a', 'At character 2: expected =, !=, =~ or !~'],
    ['a=~"("', 'At character 4: The regular expression is not valid in RE2 syntax (error parsing regexp'],
    [many(21), 'Enter at most 20 matchers.'],
    [`${'n'.repeat(129)}="b"`, 'The name of a label has 1 to 128 characters.'],
    [
      `a="${'v'.repeat(4000)}",b="${'v'.repeat(95)}"`,
      'The matchers have 4097 characters together. Write at most 4096.',
    ],
    [' '.repeat(90_000), 'Enter at most 16384 characters.'],
  ])('are refused with the field', (text, reason) => {
    expect(() => requireMatchers(text, '3.matchers')).toThrow(
      expect.objectContaining({ field: '3.matchers', message: expect.stringContaining(reason) }),
    );
  });

  test('may be 20, or none for a route', () => {
    expect(requireMatchers(many(20), 'matchers')).toHaveLength(20);
    expect(requireMatchers('', 'matchers')).toEqual([]);
  });

  test.each(['', 'a!="b"', 'a=~".*", c=""'])('of a silence must require a value: %s', (text) => {
    expect(() => requireSelectiveMatchers(text, 'matchers')).toThrow('also match an alert without labels');
  });

  test('that were sent one by one have the same limits', () => {
    const matcher = { name: 'a', value: 'b(', isRegex: true, isEqual: true };
    expect(() => requireSelectiveList([matcher], 'matchers')).toThrow(
      'The regular expression is not valid in RE2 syntax',
    );
    expect(() => requireSelectiveList([{ ...matcher, name: '' }], 'matchers')).toThrow('1 to 128 characters');
    expect(requireSelectiveList([{ ...matcher, value: 'b' }], 'matchers')).toHaveLength(1);
  });
});
