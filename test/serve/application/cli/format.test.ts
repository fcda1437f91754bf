import { describe, expect, it } from 'vitest';
import { readColourOption } from '../../../../serve/application/cli/colour.ts';
import {
  alignedTable,
  formatAge,
  formatBytes,
  formatDuration,
  formatNumber,
  truncate,
  wrapText,
} from '../../../../serve/application/cli/format.ts';

describe('numbers for people', () => {
  it.each([
    [formatNumber(1_234_567), '1,234,567'],
    [formatBytes(1_234_567_890), '1.2 GB'],
    [formatBytes(999), '999 B'],
    [formatDuration(245), '4 min 5 s'],
  ])('%s', (text, wanted) => expect(text).toBe(wanted));

  it.each([
    ['2026-03-01T12:00:00Z', '0 s ago'],
    ['2026-03-01T11:56:10Z', '3 min ago'],
    ['2026-03-01T09:59:00Z', '2 h ago'],
    ['2026-02-01T12:00:00Z', '28 d ago'],
    ['2020-03-01T12:00:00Z', '6 y ago'],
    ['2026-03-01T12:05:00Z', 'in 5 min'],
  ])('%s was %s', (time, wanted) => expect(formatAge(time, Date.parse('2026-03-01T12:00:00Z'))).toBe(wanted));
});

it('a long cell says that it is truncated', () => {
  expect(truncate('a'.repeat(80))).toBe('a'.repeat(80));
  expect(truncate('a'.repeat(81))).toBe(`${'a'.repeat(79)}…`);
});

it('paragraphs of a help text are as wide as the terminal, and examples as they are written', () => {
  const text = '\nOne two three\nfour five.\n\nExamples:\n  chain-metrics export daily-fees';
  expect(wrapText(text, 12)).toBe(
    '\nOne two\nthree four\nfive.\n\nExamples:\n  chain-metrics export daily-fees',
  );
  expect(wrapText(text, 13)).toBe(text);
});

it('columns stand side by side whatever colour their cells have', () => {
  const table = alignedTable(
    [
      ['\u001b[1mname\u001b[22m', 'n'],
      ['a', '1'],
      ['abcdef', '22'],
    ],
    [1],
  );
  expect(table.split('\n')).toEqual(['\u001b[1mname\u001b[22m     n', 'a        1', 'abcdef  22']);
});

it('--no-color stands above FORCE_COLOR, and behind -- it is a value', () => {
  const env: NodeJS.ProcessEnv = { FORCE_COLOR: '1' };
  readColourOption(['status', '--', '--no-color'], env);
  expect(env).toEqual({ FORCE_COLOR: '1' });
  readColourOption(['status', '--no-color'], env);
  expect(env).toEqual({ NO_COLOR: '1' });
});
