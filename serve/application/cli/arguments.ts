import { type Command, InvalidArgumentError, Option } from 'commander';
import { ProductError } from '../../../infra/errors.ts';
import { isNodeAddress } from '../../../ingest/sources/address-schemas.ts';

// Parsers of arguments and options. An InvalidArgumentError is reported by commander as a wrong value.

export function parseWhole(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number.');
}

/** Parses a whole number from `min` to `max`. */
export const parseWithin = (min: number, max: number) => (text: string) => {
  const value = parseWhole(text);
  if (value >= min && value <= max) return value;
  throw new InvalidArgumentError(`Expected a number from ${min} to ${max}.`);
};

/** Parses a date of the calendar, as strictly as the API. */
export function parseDay(text: string): string {
  if (!isDay(text)) throw new InvalidArgumentError('Expected a date as YYYY-MM-DD.');
  return text;
}

function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`);
  return (
    /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
  );
}

/** Returns a number for a height, and a text for a day. */
export function parseHeightOrDay(text: string): number | string {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  if (isDay(text)) return text;
  throw new InvalidArgumentError('Expected a height, or a date as YYYY-MM-DD.');
}

function parseUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError('Expected an http or https URL such as http://127.0.0.1:8080.');
}

const collectNode = (text: string, before: readonly string[] = []) => [...before, parseNode(text)];

export function parseNode(text: string): string {
  if (isNodeAddress(text)) return text;
  throw new InvalidArgumentError('Expected a ws, wss, http or https URL such as wss://127.0.0.1:9944.');
}

export const nodeOption = () =>
  new Option(
    '--node <url>',
    'URL of a Substrate node, ws(s) or http(s); repeat it for further nodes, which provide the data that the first lacks',
  ).argParser(collectNode);

/** The options of every command that fetches from a service. */
export const sourceOptions = (command: Command) =>
  command
    .addOption(nodeOption())
    .option('--url <url>', 'URL of a Sidecar or polkadot-rest-api', parseUrl)
    .option('--chain <name>', 'chain of the service, by name or alias; default for a node: detected')
    .option(
      '--concurrency <number>',
      'blocks to fetch at the same time; default: 256 from a node, 8 from a Sidecar',
      parseWithin(1, 256),
    )
    .option(
      '--force',
      'accept the blocks even if the runtime or the first block of the service belongs to another chain',
    );

/** Adds --sources, which replaces the options of `sourceOptions` and some others. */
export const sourcesOption = (command: Command, others: readonly string[]) =>
  command.addOption(
    new Option('--sources <file>', 'file that lists chains and their sources, YAML or JSON').conflicts([
      ...['node', 'url', 'chain', 'concurrency', 'force'],
      ...others,
    ]),
  );

/** Refuses a range of days that ends before it begins. */
export function refuseReversed({ from, until }: { readonly from?: string; readonly until?: string }): void {
  if (from === undefined || until === undefined || from <= until) return;
  throw new ProductError('usage', `--until ${until} is before --from ${from}`);
}
