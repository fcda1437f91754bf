import { type Command, Option } from 'commander';
import { ProductError } from '../../../../infra/errors.ts';
import type {
  DeadLetterRequest,
  DeadLetterResult,
} from '../../../../ingest/dead-letters/dead-letter-requests.ts';
import type { Config } from '../../../settings/settings.ts';
import { parseWithin } from '../arguments.ts';
import { headings } from '../colour.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable, formatNumber, plural, truncate } from '../format.ts';

interface Options {
  readonly all?: boolean;
  readonly chain?: string;
  readonly json?: boolean;
  readonly limit?: number;
  readonly kind?: 'lines' | 'facts';
}

export const deadLettersHelp = `Pass the first characters of an id (at least 4). With PROFILE=distributed the log keeps refused messages
complete. The embedded profile keeps the first 64 KiB of each: ingest longer input again from its file.

Examples:
  chain-metrics dead-letters list
  chain-metrics dead-letters list --kind facts
  chain-metrics dead-letters show 3f9a
  chain-metrics dead-letters retry --all                      after you add a chain to CHAINS_FILE
  chain-metrics dead-letters retry 3f9a --chain polkadot      a bare block from a file with another name
  chain-metrics dead-letters drop 3f9a 77c0

Exit code 3: something was refused again.`;

const idsArgument = (command: Command, isOptional: boolean) =>
  command.argument(isOptional ? '[id...]' : '<id...>', 'dead letters by the first characters of their ids');
const allOption = (command: Command) => command.option('--all', 'every dead letter');

const list = command<[], Options>({
  name: 'dead-letters list',
  description: 'show the latest dead letters with their origin and reason',
  args: (command) =>
    jsonOption(command)
      .addOption(
        new Option('--kind <kind>', 'refused lines, or refused facts of stored blocks')
          .choices(['lines', 'facts'])
          .default('lines'),
      )
      .option('--chain <name>', 'with --kind facts: only of that chain')
      .option('--limit <number>', 'how many to show', parseWithin(1, 10_000), 20),
  run: ({ options, config }) => {
    if (options.kind === 'facts') return listFacts(options, config);
    if (options.chain !== undefined)
      throw new ProductError('usage', '--chain is for --kind facts: the chain of a refused line is unknown');
    return request({ action: 'list', limit: options.limit }, options, config);
  },
});

const show = command<[ids: string[]], Options>({
  name: 'dead-letters show',
  description: 'show dead letters completely, with their text',
  args: (command) => idsArgument(jsonOption(command), false),
  run: ({ args: [ids], options, config }) => request({ action: 'show', ids }, options, config),
});

const retry = command<[ids: string[]], Options>({
  name: 'dead-letters retry',
  description: 'publish dead letters to the log again, and wait for the results',
  args: (command) =>
    allOption(idsArgument(jsonOption(command), true)).option(
      '--chain <name>',
      'chain of bare blocks, if their file is not named after it',
    ),
  run: ({ args: [ids], options, config }) => {
    const { all, chain } = options;
    return request({ action: 'retry', ids, all, ...(chain === undefined ? {} : { chain }) }, options, config);
  },
});

const drop = command<[ids: string[]], Options>({
  name: 'dead-letters drop',
  description: 'delete dead letters permanently',
  args: (command) => allOption(idsArgument(jsonOption(command), true)),
  run: ({ args: [ids], options, config }) =>
    request({ action: 'drop', ids, all: options.all }, options, config),
});

export const deadLetters = [list, show, retry, drop];

const request = (request: DeadLetterRequest, options: Options, config: Config): Promise<number> =>
  withOperations(config, async (client) => {
    const result = await client.call('deadLetters', request);
    print(result, options, () => textOf(request, result));
    return result.outcomes?.some(({ refused }) => refused !== null) ? EXIT.refused : EXIT.ok;
  });

const listFacts = ({ chain, limit = 20, json = false }: Options, config: Config): Promise<number> =>
  withOperations(config, async (client) => {
    const filter = chain === undefined ? { limit } : { chain, limit };
    const { total, facts } = await client.call('refusedFacts', filter);
    print({ total, facts }, { json }, () => {
      if (facts.length === 0) return 'There are no refused facts.\n';
      const rows = facts.map(({ chain, number: height, fact, reason, raw }) => [
        chain,
        String(height),
        fact,
        reason,
        truncate(raw),
      ]);
      const more = `${formatNumber(facts.length)} of ${plural(total, 'refused fact')}${facts.length < total ? '; --limit shows more' : ''}`;
      return `${alignedTable([headings(['chain', 'height', 'fact', 'reason', 'refused']), ...rows], [1])}\n\n${more}\n`;
    });
    return EXIT.ok;
  });

const ID_SHOWN = 12;

function textOf(request: DeadLetterRequest, answer: DeadLetterResult): string {
  const { total, letters, outcomes } = answer;
  if (request.action === 'drop')
    return `${plural(letters.length, 'dead letter')} dropped, ${formatNumber(total)} left\n`;
  if (outcomes) {
    const again = outcomes.filter(({ refused }) => refused !== null);
    return [
      `${plural(outcomes.length - again.length, 'dead letter')} accepted, ${formatNumber(again.length)} refused again`,
      ...again.map(({ id, refused }) => `  ${id.slice(0, ID_SHOWN)}  ${refused}`),
      '',
    ].join('\n');
  }
  if (letters.length === 0)
    return 'There are no dead letters. `dead-letters list --kind facts` lists the refused facts of stored blocks.\n';
  if (request.action === 'show') return letters.map(shown).join('\n');
  const rows = letters.map((letter) => [
    letter.id.slice(0, ID_SHOWN),
    letter.received_at.replace('T', ' ').slice(0, 19),
    `${letter.origin}:${letter.line}`,
    formatNumber(letter.attempts),
    formatNumber(letter.size),
    truncate(letter.reason),
  ]);
  const more =
    total > letters.length
      ? `\n\n${formatNumber(letters.length)} of ${formatNumber(total)}; --limit shows more`
      : '';
  return `${alignedTable([headings(['id', 'refused (UTC)', 'origin', 'tries', 'bytes', 'reason']), ...rows], [3, 4])}${more}\n`;
}

function shown(letter: DeadLetterResult['letters'][number]): string {
  const facts = [
    ['id', letter.id],
    ['topic', letter.topic],
    ['origin', `${letter.origin}:${letter.line}`],
    ['refused', letter.received_at],
    ['tries', formatNumber(letter.attempts)],
    ['bytes', formatNumber(letter.size)],
    ['reason', letter.reason],
  ];
  return `${alignedTable(facts)}\n\n${letter.text ?? ''}\n`;
}
