/** Blank characters that no Unicode property marks as such: the Braille blank and the musical null notehead. */
const BLANK = String.raw`\u2800\u{1d159}`;

/**
 * Invisible characters that must stay: selectors and joiners of emoji, and joiners of scripts that shape letters with
 * them.
 */
const BELONGS = [
  String.raw`(?<=\p{Extended_Pictographic}[\p{Emoji_Modifier}\ufe0f]?)[\u200d\ufe0e\ufe0f]`,
  String.raw`\ufe0f(?=\u20e3)`,
  String.raw`(?<=[[\p{Script=Arabic}\p{M}]--\p{Default_Ignorable_Code_Point}])[\u200c\u200d]`,
].join('|');

const IGNORABLE = new RegExp(String.raw`(?!${BELONGS})\p{Default_Ignorable_Code_Point}`, 'gv');
const BLANKS = new RegExp(`[${BLANK}]`, 'gv');
const HIDDEN = new RegExp(
  String.raw`(?!${BELONGS})[\p{C}\p{Default_Ignorable_Code_Point}${BLANK}]|[\s--\x20]`,
  'v',
);

/** Removes invisible characters, and replaces characters that look like a space with a space. */
export const withoutHidden = (text: string): string => text.replace(IGNORABLE, '').replace(BLANKS, ' ');

/** Whether a one-line text contains an invisible character, or one that only looks like a space. */
export const hasHidden = (text: string): boolean => HIDDEN.test(text);
