/**
 * HTML as a tagged template, made like the `sql` tag: what is interpolated decides how it is written. Other
 * fragments stay as they are, everything else is escaped, so a value can never become markup. Attributes are
 * always written in double quotes.
 */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[];

export function html(strings: TemplateStringsArray, ...parts: readonly HtmlValue[]): Html {
  return new Html(strings.map((text, i) => (i === 0 ? text : `${written(parts[i - 1])}${text}`)).join(''));
}

function written(part: HtmlValue): string {
  if (part instanceof Html) return part.text;
  if (part === null || part === undefined || part === false) return '';
  if (typeof part === 'object') return part.map(written).join('');
  return String(part).replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}
