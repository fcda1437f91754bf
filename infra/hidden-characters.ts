/** Blanks that no property of Unicode tells: the one of Braille, and a note head of music that is not drawn. */
const BLANK = String.raw`\u2800\u{1d159}`;

/**
 * What belongs to the characters beside it, though it is not seen itself: the selectors and joiners of an emoji, and the
 * joiners of scripts that shape their letters by them.
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

/** A text without characters that are never seen, and with spaces for those that look like one. */
export const withoutHidden = (text: string): string => text.replace(IGNORABLE, '').replace(BLANKS, ' ');

/** Whether a text of one line has a character that is not seen, or is seen as a space and is none. */
export const hasHidden = (text: string): boolean => HIDDEN.test(text);
