import { hasHidden } from '../../infra/hidden-characters.ts';
import { FieldError } from './field-error.ts';

const CHARACTERS_MAX = 100;

/** A name that people see, normalized; '' for none. Throws a `FieldError` if it is invalid. */
export function displayName(given: string, charactersMax = CHARACTERS_MAX): string {
  const name = given.normalize('NFKC').trim().replace(/ +/g, ' ');
  if ([...name].length > charactersMax) {
    throw new FieldError('name', `Use at most ${charactersMax} characters.`);
  }
  // Hidden characters change the display of the surrounding text, or make a name look empty or like another name.
  if (hasHidden(name)) throw new FieldError('name', 'Use only letters, digits, spaces and punctuation.');
  return name;
}

/**
 * The recommended scripts of Unicode (UAX #31, table 5). Few people can read other scripts, and many of their letters look
 * like Latin ones.
 */
const SCRIPTS = [
  ...['Arabic', 'Armenian', 'Bengali', 'Bopomofo', 'Cyrillic', 'Devanagari', 'Ethiopic', 'Georgian', 'Greek'],
  ...['Gujarati', 'Gurmukhi', 'Han', 'Hangul', 'Hebrew', 'Hiragana', 'Kannada', 'Katakana', 'Khmer', 'Lao'],
  ...['Latin', 'Malayalam', 'Myanmar', 'Oriya', 'Sinhala', 'Tamil', 'Telugu', 'Thaana', 'Thai', 'Tibetan'],
];

/** Each script alone, and those that are written together (UTS #39 §5.2, highly restrictive). */
const WRITTEN_TOGETHER = [
  ...SCRIPTS.map((script) => [script]),
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
].map((scripts) => {
  const letters = ['Common', 'Inherited', ...scripts].map((script) => `\\p{Script_Extensions=${script}}`);
  return new RegExp(`^[${letters.join('')}]*$`, 'u');
});

/** Whether all letters belong to one alphabet. Similar letters of other alphabets could imitate another name. */
export const isOneAlphabet = (name: string): boolean =>
  WRITTEN_TOGETHER.some((pattern) => pattern.test(name));
