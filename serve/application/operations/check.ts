import { z } from 'zod';
import { reasonOf } from '../../../infra/errors.ts';
import type { Damage } from '../../../infra/ports.ts';
import { DATABASE, ident, sql } from '../../../infra/sql.ts';
import { ingestModule } from '../../../ingest/module.ts';
import { operation } from './operation.ts';

interface CheckProgress {
  readonly done: number;
  readonly total: number;
}

interface CheckResult {
  readonly tables: number;
  readonly parts: number;
  /** All damaged files, including those that were found earlier. */
  readonly damage: readonly Damage[];
}

/** Verifies the checksums of every part of every table, and the stored log. */
export const check = operation<CheckProgress>()({
  input: z.object({}),
  run: async ({ runtime }, _input, { onProgress, signal }): Promise<CheckResult> => {
    const { store, damage } = runtime;
    damage.checkLog();
    const parts = await store.rows<{ table: string; name: string; path: string; rows: number }>(sql`
      SELECT table, name, path, rows FROM system.parts WHERE database = ${DATABASE} AND active ORDER BY table, name`);
    for (const [done, { table, name, path, rows }] of parts.entries()) {
      if (signal.aborted) break;
      onProgress({ done, total: parts.length });
      const fault = await faultOf(() =>
        store.rows<{ is_passed: number; message: string }>(
          sql`CHECK TABLE ${ident(DATABASE)}.${ident(table)} PART ${name}`,
        ),
      );
      if (fault === null) continue;
      damage.add({
        part: 'store',
        file: path,
        lost: `some of ${rows} rows of table ${table}, and every answer that needs them: ${fault}`,
        advice: 'restore the data directory from a backup, or load the blocks of the part into a new one',
      });
    }
    await ingestModule.forgetAfterDamage(runtime);
    return {
      tables: new Set(parts.map(({ table }) => table)).size,
      parts: parts.length,
      damage: damage.list(),
    };
  },
});

async function faultOf(
  checkPart: () => Promise<readonly { is_passed: number; message: string }[]>,
): Promise<string | null> {
  try {
    const failed = (await checkPart()).find(({ is_passed }) => is_passed === 0);
    return failed ? failed.message.slice(0, FAULT_CHARACTERS) : null;
  } catch (error) {
    const reason = reasonOf(error);
    // A merge has replaced the part, and has therefore read all of it.
    return /NO_SUCH_DATA_PART/.test(reason) ? null : reason.slice(0, FAULT_CHARACTERS);
  }
}

const FAULT_CHARACTERS = 300;
