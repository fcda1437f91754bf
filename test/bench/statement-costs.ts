import { join } from 'node:path';
import { Session } from 'chdb';
import { CONNECTION_SETTINGS } from '../../infra/embedded/connection-settings.ts';

/** What one statement that reads costs when it runs alone. */
export interface StatementCost {
  readonly text: string;
  readonly rows: number;
  readonly bytes: number;
  readonly processorMs: number;
}

interface Answer {
  readonly statistics: { readonly rows_read: number; readonly bytes_read: number };
}

/** Runs each statement that reads once more, without what it writes; the costliest first. The store is open here. */
export async function costsOf(
  dataDirectory: string,
  statements: readonly string[],
): Promise<readonly StatementCost[]> {
  const session = new Session(join(dataDirectory, 'store'));
  session.query(`SET ${CONNECTION_SETTINGS.join(', ')}`);
  const costs: StatementCost[] = [];
  for (const statement of statements.filter((one) => /\bSELECT\b/.test(one))) {
    const text = statement.replace(/^\s*INSERT INTO [^(]+\([^)]*\)\s*/, '');
    const before = process.cpuUsage();
    const answer = (await session.queryAsync(text, { format: 'JSON' })).json<Answer>();
    const { user, system } = process.cpuUsage(before);
    const { rows_read: rows, bytes_read: bytes } = answer.statistics;
    costs.push({ text, rows, bytes, processorMs: (user + system) / 1000 });
  }
  session.close();
  return costs.sort((a, b) => b.processorMs - a.processorMs);
}
