import { DATABASE } from '../sql.ts';

/** Matches the database name before a table or in a condition, and text to skip: literals, quoted names, comments. */
const TOKENS = new RegExp(
  [
    `\\bdatabase = '${DATABASE}'`,
    `\\b${DATABASE}(?=\\.)`,
    `'(?:[^'\\\\]+|\\\\[^]|'')*'`,
    '`(?:[^`\\\\]+|\\\\[^])*`',
    '"(?:[^"\\\\]+|\\\\[^])*"',
    '--[^\\n]*',
    '/\\*[^]*?\\*/',
  ].join('|'),
  'g',
);

/**
 * Rewrites a statement for another database. Fingerprints of definitions use the fixed name, so that a store can move to
 * another database and nothing is computed again.
 */
export function inDatabase(statement: string, database: string): string {
  if (database === DATABASE) return statement;
  return statement.replace(TOKENS, (token) => {
    if (token === DATABASE) return database;
    return token.startsWith('database') ? `database = '${database}'` : token;
  });
}
