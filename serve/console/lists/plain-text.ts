/** Letters of a text in a cell; the API has all of them. */
const SHOWN_CHARS_MAX = 200;

/**
 * A text that others wrote, as one line for people: what would turn or hide the text around it is shown as a
 * replacement character, and a long one is cut.
 */
export function plainText(text: string, most = SHOWN_CHARS_MAX): string {
  const line = text
    .slice(0, most + 1)
    .toWellFormed()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(HIDDEN, '\ufffd')
    .trim();
  return text.length > most ? `${line.slice(0, most).toWellFormed()}…` : line;
}

/** Controls, those of the direction of writing, and letters without a width. */
const HIDDEN = /[\p{Cc}\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;
