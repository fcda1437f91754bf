import { type ErrorCode, ProductError, reasonOf } from '../../../infra/errors.ts';

export const EXIT = { ok: 0, failure: 1, usage: 2, refused: 3 } as const;

const USAGE: readonly ErrorCode[] = [
  'usage',
  'setting_invalid',
  'store_missing',
  'unknown_metric',
  'unknown_chain',
];

/** The next step, for errors whose message does not name it. */
const ADVICE: Partial<Record<ErrorCode, string>> = {
  setting_invalid: 'run `chain-metrics settings` for all settings and their values',
  store_in_use: 'wait until it ends, stop it, or set DATA_DIR to another directory',
  store_missing:
    'set DATA_DIR to the directory of your store, or create a store there with `chain-metrics ingest`, `backfill` or `start`',
  store_unwritable:
    'free disk space, give this user write permission there, or set DATA_DIR to another directory',
  input_unreadable: 'nothing was ingested',
  input_missing: 'nothing was ingested',
};

/** One line with the error and the next step. LOG_LEVEL=debug adds the stack. */
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
  const advice = wantsStack ? '' : '; set LOG_LEVEL=debug to see the stack';
  return { text: `${reasonOf(error)}${advice}${stack}`, exitCode: EXIT.failure };
}

/**
 * Ends the process while the engine works. An ordinary exit would free memory that its threads still use, and crash. The
 * store survives a kill.
 */
export function killSelf(signal: 'SIGINT' | 'SIGKILL' = 'SIGKILL'): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
