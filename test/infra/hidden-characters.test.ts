import { describe, expect, test } from 'vitest';
import { hasHidden, withoutHidden } from '../../infra/hidden-characters.ts';

/** Characters that show nothing, or a blank. */
const HIDDEN: [string, string][] = [
  ['a zero-width space', '\u200b'],
  ['a soft hyphen', '\u00ad'],
  ['a combining grapheme joiner', '\u034f'],
  ['an Arabic letter mark', '\u061c'],
  ['a Hangul choseong filler', '\u115f'],
  ['a Hangul jungseong filler', '\u1160'],
  ['a Hangul filler', '\u3164'],
  ['a halfwidth Hangul filler', '\uffa0'],
  ['a Khmer inherent vowel', '\u17b4'],
  ['a Mongolian vowel separator', '\u180e'],
  ['a zero-width non-joiner', '\u200c'],
  ['a zero-width joiner', '\u200d'],
  ['a word joiner', '\u2060'],
  ['an invisible times', '\u2062'],
  ['a variation selector', '\ufe0f'],
  ['a byte order mark', '\ufeff'],
  ['a supplementary variation selector', '\u{e0100}'],
  ['a tag', '\u{e0041}'],
  ['a musical control', '\u{1d173}'],
];
const BLANK: [string, string][] = [
  ['a blank of Braille', '\u2800'],
  ['a note head that is not drawn', '\u{1d159}'],
];

describe.each([...HIDDEN, ...BLANK])('%s', (_, character) => {
  test.each(['Go?od', '?Good', 'Good?', '?', 'Приложе?ние', '1?2'])('is found in %s', (pattern) => {
    const text = pattern.replace('?', character);
    expect(hasHidden(text)).toBe(true);
    expect(hasHidden(withoutHidden(text))).toBe(false);
    const seen = BLANK.some(([, blank]) => blank === character) ? ' ' : '';
    expect(withoutHidden(text)).toBe(pattern.replace('?', seen));
  });
});

test.each(['\u00a0', '\u1680', '\u3000', '\t', '\n', '\u2028', '\u0085', '\u202e', '\u0007'])(
  '%j is no space, or changes how others are shown',
  (character) => {
    expect(hasHidden(`Go${character}od`)).toBe(true);
  },
);

test.each([
  'Café № 1',
  'हिन्दी क्‍ष',
  'می‌خواهم',
  '👩‍💻 laptop',
  '❤️ alerts',
  '👍🏽',
  '1️⃣ first',
  '応用',
  'a b',
  '',
])('%s stays as it is', (text) => {
  expect(hasHidden(text)).toBe(false);
  expect(withoutHidden(text)).toBe(text);
});
