/** The result of one check of an installation. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly text: string;
  /** What the operator should do; null if nothing. */
  readonly remedy: string | null;
}

const TEXT_CHARACTERS = 400;
const cut = (text: string) =>
  text.length > TEXT_CHARACTERS ? `${text.slice(0, TEXT_CHARACTERS - 1)}…` : text;

export const fine = (check: string, text: string): Finding => ({
  check,
  state: 'ok',
  text: cut(text),
  remedy: null,
});
export const warning = (check: string, text: string, remedy: string): Finding => ({
  check,
  state: 'warning',
  text: cut(text),
  remedy: cut(remedy),
});
export const failed = (check: string, text: string, remedy: string): Finding => ({
  check,
  state: 'failed',
  text: cut(text),
  remedy: cut(remedy),
});
