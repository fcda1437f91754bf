import { styleText } from 'node:util';

const STYLES = {
  heading: 'bold',
  good: 'green',
  caution: 'yellow',
  bad: ['bold', 'red'],
  aside: 'dim',
} as const;

/** Styles a text if the stream is a colour terminal. Node respects NO_COLOR, FORCE_COLOR, NODE_DISABLE_COLORS and TERM. */
export function paint(style: keyof typeof STYLES, text: string, stream: NodeJS.WriteStream = process.stdout) {
  const format = STYLES[style];
  return styleText(typeof format === 'string' ? format : [...format], text, { stream });
}

/** Styles the first row of a table. */
export const headings = (names: readonly string[]): string[] => names.map((name) => paint('heading', name));

export const NO_COLOUR = '--no-color';

/** Sets NO_COLOR for the option, which overrides FORCE_COLOR. */
export function readColourOption(args: readonly string[], env: NodeJS.ProcessEnv): void {
  const options = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  if (!options.includes(NO_COLOUR)) return;
  delete env.FORCE_COLOR;
  env.NO_COLOR = '1';
}
