/** Most characters of a cell. */
const SHOWN_CHARS_MAX = 200;

/** Cleans untrusted text: one line, cut to a length, with U+FFFD for invisible characters and direction controls. */
export function plainText(text: string, most = SHOWN_CHARS_MAX): string {
  const line = text
    .slice(0, most + 1)
    .toWellFormed()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(HIDDEN, '\ufffd')
    .trim();
  return text.length > most ? `${line.slice(0, most).toWellFormed()}…` : line;
}

/** Control characters, direction controls and zero-width characters. */
const HIDDEN = /[\p{Cc}\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;
