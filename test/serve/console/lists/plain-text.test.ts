import { describe, expect, it } from 'vitest';
import { plainText } from '../../../../serve/console/lists/plain-text.ts';

describe('a text that others wrote', () => {
  it.each([
    ['two\nlines\tand  more', 'two lines and more'],
    ['a\u202ecilbup\u202c', 'a\ufffdcilbup\ufffd'],
    ['a\u0000b\u001b[31m', 'a\ufffdb\ufffd[31m'],
    ['zero\u200bwidth', 'zero\ufffdwidth'],
    ['half \ud83d', 'half \ufffd'],
    ['Übersetzung 翻訳 🟢', 'Übersetzung 翻訳 🟢'],
    ['', ''],
  ])('%j is one line of what can be seen', (text, plain) => {
    expect(plainText(text)).toBe(plain);
  });

  it('is cut', () => {
    expect(plainText('x'.repeat(100_000))).toBe(`${'x'.repeat(200)}…`);
    expect(plainText('🟢'.repeat(200), 5).isWellFormed()).toBe(true);
  });
});
