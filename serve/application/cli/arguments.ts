import { type Command, InvalidArgumentError, Option } from 'commander';
import { ProductError } from '../../../infra/errors.ts';
import { isNodeAddress } from '../../../ingest/sources/file-kinds.ts';

// Parsers of arguments and options; each throws what commander reports as a wrong value.

/** A whole number, strictly. */
export function parseWhole(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number.');
}

/** A whole number between two others, both included. */
export const parseWithin = (min: number, max: number) => (text: string) => {
  const value = parseWhole(text);
  if (value >= min && value <= max) return value;
  throw new InvalidArgumentError(`Expected a number from ${min} to ${max}.`);
};

/** A day of the calendar, as strict as the API is about its dates. */
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

/** A height as a number, or a day as its text. */
export function parseHeightOrDay(text: string): number | string {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  if (isDay(text)) return text;
  throw new InvalidArgumentError('Expected a height, or a date as YYYY-MM-DD.');
}

/** An http or https address. */
function parseUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError('Expected an http or https URL such as http://127.0.0.1:8080.');
}

/** Addresses of nodes: one more each time that the option is given. */
const collectNode = (text: string, before: readonly string[] = []) => [...before, parseNode(text)];

/** The address of a node. */
export function parseNode(text: string): string {
  if (isNodeAddress(text)) return text;
  throw new InvalidArgumentError('Expected a ws, wss, http or https URL such as wss://127.0.0.1:9944.');
}

export const nodeOption = () =>
  new Option(
    '--node <url>',
    'address of a Substrate node, ws(s) or http(s); repeat it for others, which are asked for what it does not give',
  ).argParser(collectNode);

/** The options of every command that fetches from a service. */
export const sourceOptions = (command: Command) =>
  command
    .addOption(nodeOption())
    .option('--url <url>', 'address of a Sidecar or polkadot-rest-api', parseUrl)
    .option('--chain <name>', 'chain that it serves, by name or alias; a node tells it by its first block')
    .option(
      '--concurrency <number>',
      'blocks to fetch at the same time; default: 256 from a node, 8 from a Sidecar',
      parseWithin(1, 256),
    )
    .option(
      '--force',
      'accept the blocks although the runtime of the service is named after another chain, or its network has another first block',
    );

/** The option that stands for those of `sourceOptions` and some others: a file says what they say. */
export const sourcesOption = (command: Command, others: readonly string[]) =>
  command.addOption(
    new Option('--sources <file>', 'sources file: chains and their sources, YAML or JSON').conflicts([
      ...['node', 'url', 'chain', 'concurrency', 'force'],
      ...others,
    ]),
  );

/** Refuses a range of days that ends before it begins. */
export function refuseReversed({ from, until }: { readonly from?: string; readonly until?: string }): void {
  if (from === undefined || until === undefined || from <= until) return;
  throw new ProductError('usage', `--until ${until} is before --from ${from}`);
}
