import mustache from 'mustache';
import { visible } from '../../../aggregate/alerts/formats/values.ts';

/** Limit of the work of one rendering, well above any real message. */
const STEPS_MAX = 20_000;
/** Escaping this many characters of a value counts as one step. */
const CHARACTERS_PER_STEP = 100;

type Value = string | number | boolean | Data | readonly Value[];
interface Data {
  readonly [name: string]: Value;
}

/** The context of a template: plain data. */
export type TemplateData = Data;

/** The value of a name, or undefined. Reads own properties only, so no name reaches code. */
export function valueIn(views: readonly unknown[], name: string): unknown {
  if (name === '.') return views.at(-1);
  const [first = '', ...rest] = name.split('.');
  const view = views.findLast((one) => isData(one) && Object.hasOwn(one, first)) as Data | undefined;
  return rest.reduce<unknown>(
    (value, part) => (isData(value) && Object.hasOwn(value, part) ? value[part] : undefined),
    view?.[first],
  );
}

const isData = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Looks up plain data without prototypes and functions. */
class DataContext extends mustache.Context {
  readonly #views: readonly unknown[];

  constructor(views: readonly unknown[]) {
    super({});
    this.#views = views;
  }

  override push(view: unknown): DataContext {
    return new DataContext([...this.#views, view]);
  }

  override lookup(name: string): unknown {
    return valueIn(this.#views, name);
  }
}

interface Rendered {
  readonly text: string;
  /** True if a limit stopped the rendering. */
  readonly isCut: boolean;
}

class TooLong extends Error {}

/** Stops at the limits of length and work. Keeps the text rendered so far. */
class LimitedWriter extends mustache.Writer {
  readonly #escapeText: (text: string) => string;
  readonly #charactersMax: number;
  #steps = STEPS_MAX;
  #text = '';

  constructor(escapeText: (text: string) => string, charactersMax: number) {
    super();
    this.#escapeText = escapeText;
    this.#charactersMax = charactersMax;
  }

  result(template: string, data: TemplateData): Rendered {
    try {
      this.render(template, new DataContext([data]));
      return { text: this.#text, isCut: false };
    } catch (error) {
      if (!(error instanceof TooLong)) throw error;
      return { text: this.#text.slice(0, this.#charactersMax), isCut: true };
    }
  }

  override renderTokens(...input: Parameters<mustache.Writer['renderTokens']>): string {
    this.#work(input[0].length + 1);
    return super.renderTokens(...input);
  }

  override escapedValue(token: string[], context: mustache.Context): string {
    const value: unknown = context.lookup(token[1] as string);
    if (value === undefined || typeof value === 'object') return '';
    // Cut the text first: it can be very long and consist only of invisible characters.
    const text = String(value).slice(0, this.#charactersMax);
    this.#work(text.length / CHARACTERS_PER_STEP);
    return this.#add(this.#escapeText(visible(text)));
  }

  override rawValue(token: string[]): string {
    return this.#add(token[1] as string);
  }

  #work(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new TooLong();
  }

  #add(text: string): string {
    this.#text += text;
    if (this.#text.length > this.#charactersMax) throw new TooLong();
    return text;
  }
}

/** Renders a template that was checked when it was saved. */
export const renderTemplate = (
  template: string,
  data: TemplateData,
  { escapeText, charactersMax }: { escapeText: (text: string) => string; charactersMax: number },
): Rendered => new LimitedWriter(escapeText, charactersMax).result(template, data);
