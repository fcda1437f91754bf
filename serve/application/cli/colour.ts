import { styleText } from 'node:util';

const STYLES = {
  heading: 'bold',
  good: 'green',
  caution: 'yellow',
  bad: ['bold', 'red'],
  aside: 'dim',
} as const;

/**
 * Text in colour where a stream is a terminal that has some. NO_COLOR, FORCE_COLOR, NODE_DISABLE_COLORS and TERM=dumb
 * are respected by Node.
 */
export function paint(style: keyof typeof STYLES, text: string, stream: NodeJS.WriteStream = process.stdout) {
  const format = STYLES[style];
  return styleText(typeof format === 'string' ? format : [...format], text, { stream });
}

/** The first row of a table. */
export const headings = (names: readonly string[]): string[] => names.map((name) => paint('heading', name));

export const NO_COLOUR = '--no-color';

/** The option says what NO_COLOR says in the environment, and wins over FORCE_COLOR. */
export function readColourOption(args: readonly string[], env: NodeJS.ProcessEnv): void {
  const options = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  if (!options.includes(NO_COLOUR)) return;
  delete env.FORCE_COLOR;
  env.NO_COLOR = '1';
}
