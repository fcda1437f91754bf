/**
 * An HTML fragment, made by the tagged template `html`. The template inserts fragments unchanged and escapes all other
 * values. Attribute values must be in double quotes.
 */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[];

export function html(strings: TemplateStringsArray, ...parts: readonly HtmlValue[]): Html {
  return new Html(strings.map((text, i) => (i === 0 ? text : `${render(parts[i - 1])}${text}`)).join(''));
}

function render(part: HtmlValue): string {
  if (part instanceof Html) return part.text;
  if (part === null || part === undefined || part === false) return '';
  if (typeof part === 'object') return part.map(render).join('');
  return String(part).replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}
