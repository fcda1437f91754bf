import { DATABASE } from '../sql.ts';

/** Texts, quoted names and comments, which stay; and the name of the database before a table or as a condition. */
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
 * The statement over the tables of another database. Statements are written, and definitions are told apart, under one
 * name, so that a store may move to another database and nothing is computed again.
 */
export function inDatabase(statement: string, database: string): string {
  if (database === DATABASE) return statement;
  return statement.replace(TOKENS, (token) => {
    if (token === DATABASE) return database;
    return token.startsWith('database') ? `database = '${database}'` : token;
  });
}
