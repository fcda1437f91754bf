import type { Command } from 'commander';
import type { DeadLetterRequest } from '../../ingest/log/dead-letter-requests.ts';
import { readConfig } from '../settings.ts';
import { parseWithin } from './height.ts';

/** The `dead-letters` commands with their help; what they do is loaded when they run. */
export function addDeadLetters(program: Command, finish: (exitCode: number) => never): void {
  const letters = program
    .command('dead-letters')
    .description('look at what was refused, try it again or drop it')
    .addHelpText(
      'after',
      `
A letter is named by the first characters of its id. On the distributed profile the log keeps refused messages whole;
otherwise the first DEAD_LETTER_BYTES_MAX bytes are kept, and what was longer has to be taken in from its file again.

Examples:
  chain-metrics dead-letters list
  chain-metrics dead-letters show 3f9a
  chain-metrics dead-letters retry --all                      after a chain was added to CHAINS_FILE
  chain-metrics dead-letters retry 3f9a --chain polkadot      a bare block whose file had another name
  chain-metrics dead-letters drop 3f9a 77c0

Exit code 3 says that something was refused again.`,
    );
  const run = async (order: DeadLetterRequest, options: { json?: boolean }) => {
    const { deadLettersCommand } = await import('./dead-letters.ts');
    finish(await deadLettersCommand(order, options, readConfig()));
  };
  const json = (command: Command) => command.option('--json', 'print the answer as JSON');

  json(letters.command('list').description('the latest letters with their origin and reason'))
    .option('--limit <letters>', 'how many to show', parseWithin(1, 10_000), 20)
    .action(({ limit, ...options }) => run({ action: 'list', limit }, options));
  json(letters.command('show').description('all that is known of letters, with their text'))
    .argument('<id...>', 'letters by the first characters of their ids')
    .action((ids, options) => run({ action: 'show', ids }, options));
  json(letters.command('retry').description('put letters on the log again'))
    .argument('[id...]', 'letters by the first characters of their ids')
    .option('--all', 'every letter')
    .option('--chain <name>', 'chain of bare blocks, when their file was not named after it')
    .action((ids, { all, chain, ...options }) =>
      run({ action: 'retry', ids, all, ...(chain === undefined ? {} : { chain }) }, options),
    );
  json(letters.command('drop').description('forget letters'))
    .argument('[id...]', 'letters by the first characters of their ids')
    .option('--all', 'every letter')
    .action((ids, { all, ...options }) => run({ action: 'drop', ids, all }, options));
}
