import type { DeadLetterRequest, DeadLetterResult } from '../../ingest/log/dead-letter-requests.ts';
import type { Config } from '../settings.ts';
import { EXIT } from './failure.ts';
import { openOperator } from './open.ts';
import { alignedTable, number, plural } from './words.ts';

/** Shows or changes what was refused, through the server that runs on the data directory or in this process. */
export async function deadLettersCommand(
  order: DeadLetterRequest,
  { json = false }: { json?: boolean },
  config: Config,
): Promise<number> {
  const operator = await openOperator(config);
  try {
    const answer = await operator.deadLetters(order);
    process.stdout.write(json ? `${JSON.stringify(answer)}\n` : errorOf(order, answer));
    return answer.outcomes?.some(({ refused }) => refused !== null) ? EXIT.refused : EXIT.ok;
  } finally {
    await operator.close();
  }
}

const ID_SHOWN = 12;

function errorOf(order: DeadLetterRequest, answer: DeadLetterResult): string {
  const { total, letters, outcomes } = answer;
  if (order.action === 'drop')
    return `${plural(letters.length, 'dead letter')} dropped, ${number(total)} left\n`;
  if (outcomes) {
    const again = outcomes.filter(({ refused }) => refused !== null);
    return [
      `${plural(outcomes.length - again.length, 'letter')} put on the log again, ${number(again.length)} refused again`,
      ...again.map(({ id, refused }) => `  ${id.slice(0, ID_SHOWN)}  ${refused}`),
      '',
    ].join('\n');
  }
  if (letters.length === 0) return 'There is no dead letter.\n';
  if (order.action === 'show') return letters.map(shown).join('\n');
  const rows = letters.map((letter) => [
    letter.id.slice(0, ID_SHOWN),
    letter.received_at.replace('T', ' ').slice(0, 19),
    `${letter.origin}:${letter.line}`,
    number(letter.attempts),
    number(letter.size),
    letter.reason.slice(0, 80),
  ]);
  const more =
    total > letters.length ? `\n\n${number(letters.length)} of ${number(total)}; --limit shows more` : '';
  return `${alignedTable([['id', 'refused (UTC)', 'origin', 'tries', 'bytes', 'reason'], ...rows], [3, 4])}${more}\n`;
}

function shown(letter: DeadLetterResult['letters'][number]): string {
  const facts = [
    ['id', letter.id],
    ['topic', letter.topic],
    ['origin', `${letter.origin}:${letter.line}`],
    ['refused', letter.received_at],
    ['tries', number(letter.attempts)],
    ['bytes', number(letter.size)],
    ['reason', letter.reason],
  ];
  return `${alignedTable(facts)}\n\n${letter.text ?? ''}\n`;
}
