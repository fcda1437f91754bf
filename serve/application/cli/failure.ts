import { type ErrorCode, ProductError, reasonOf } from '../../../infra/errors.ts';

export const EXIT = { ok: 0, failure: 1, usage: 2, refused: 3 } as const;

const USAGE: readonly ErrorCode[] = [
  'usage',
  'setting_invalid',
  'store_missing',
  'unknown_metric',
  'unknown_chain',
];

/** What to do next, where the error's own words do not say it. */
const ADVICE: Partial<Record<ErrorCode, string>> = {
  setting_invalid: '`chain-metrics settings` lists every setting',
  store_in_use: 'wait for it or stop it, or set DATA_DIR to another directory',
  store_missing:
    'set DATA_DIR to the directory that holds one, or make one there with `chain-metrics ingest`, `backfill` or `start`',
  store_unwritable:
    'make room or give this user the right to write there, or set DATA_DIR to another directory',
  input_unreadable: 'nothing was taken in',
  input_missing: 'nothing was taken in',
};

/** What went wrong and what to do, in one line; the stack only on request. */
export function explainFailure(error: unknown): { text: string; exitCode: number } {
  const wantsStack = process.env.LOG_LEVEL === 'debug';
  const stack = wantsStack && error instanceof Error ? `\n${error.stack}` : '';
  if (error instanceof ProductError) {
    const advice = ADVICE[error.code];
    const detail = wantsStack && error.detail !== undefined ? `\n${error.detail}` : '';
    return {
      text: `${error.message}${advice === undefined ? '' : `; ${advice}`}${detail}${stack}`,
      exitCode: USAGE.includes(error.code) ? EXIT.usage : EXIT.failure,
    };
  }
  const advice = wantsStack ? '' : '; LOG_LEVEL=debug shows where';
  return { text: `${reasonOf(error)}${advice}${stack}`, exitCode: EXIT.failure };
}

/**
 * Ends while the engine is at work. An ordinary exit would take its memory away under its threads and crash;
 * being killed is what the store is made to survive.
 */
export function killSelf(signal: 'SIGINT' | 'SIGKILL' = 'SIGKILL'): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
