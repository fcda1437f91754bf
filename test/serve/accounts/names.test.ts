import { describe, expect, test } from 'vitest';
import { FieldError } from '../../../serve/accounts/field-error.ts';
import { displayName, isOneAlphabet } from '../../../serve/accounts/names.ts';

describe('a name of which nothing is seen', () => {
  test.each(['', ' ', '\t', '\u00a0', '\u3000 \u2003'])('%j is none', (name) => {
    expect(displayName(name)).toBe('');
  });

  test.each([
    '\u3164',
    '\uffa0',
    '\u115f\u1160',
    '\u2800',
    ' \u2800 ',
    '\u034f',
    '\u200b',
    '\u{e0100}',
    'a\u2800b',
  ])('%j is refused', (name) => {
    expect(() => displayName(name)).toThrow(FieldError);
  });
});

test('a name is normalized: width, white space, spaces in a row', () => {
  expect(displayName(' Ｇｏｏｄ\u00a0\u3000 name ')).toBe('Good name');
});

describe('letters of several alphabets', () => {
  test.each([
    ['Cyrillic', 'Аpple'],
    ['Greek', 'Gοogle'],
    ['Armenian', 'Gօօgle'],
    ['Cherokee', 'Ꭺpple'],
    ['Coptic', 'Gⲟogle'],
    ['Lisu', 'ꓮpple'],
    ['Georgian', 'ჽapp'],
    ['Hebrew', 'Gסogle'],
    ['Malayalam', 'Gഠogle'],
    ['Myanmar', 'Gဝogle'],
    ['Lao', 'G໐ogle'],
    ['Thai', 'G๐ogle'],
    ['Bengali digits', 'G০ogle'],
    ['Arabic', 'Gهogle'],
    ['Deseret', '𐐄pple'],
    ['Old Italic', '𐌀pple'],
    ['Greek among Cyrillic', 'Приλожение'],
  ])('with %s are refused: %s', (_, name) => {
    expect(isOneAlphabet(displayName(name))).toBe(false);
  });

  test.each(['ᎪᏢᏢᏞᎬ', 'ꓮꓑꓑꓡꓰ', 'ⲞⲢⲀ', '𐐄𐐢'])('of one that is not in use look like Latin ones: %s', (name) => {
    expect(isOneAlphabet(name)).toBe(false);
  });

  test.each([
    ...[
      'Grafana',
      'Café № 1',
      'Приложение',
      'Εφαρμογή',
      'Հավելված',
      'हिन्दी',
      'বাংলা ১',
      'ไทย',
      'עברית',
      'عربي',
    ],
    ...[
      '한국어 App',
      '応用 アプリ App',
      'ひらがな',
      '中文 App',
      'ㄅㄆ 注音',
      'ქართული',
      'አማርኛ',
      'ខ្មែរ',
      'မြန်မာ',
    ],
    ...['App → 2.0 (β)'.replace('β', 'beta'), '👩‍💻 laptop', 'C++ & co.', '123'],
  ])('of one alphabet, or of those written together, are fine: %s', (name) => {
    expect(isOneAlphabet(displayName(name))).toBe(true);
  });
});
