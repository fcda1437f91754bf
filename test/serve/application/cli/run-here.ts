import { vi } from 'vitest';
import { runProgram } from '../../../../serve/application/program.ts';
import type { Ended } from './program.ts';

/**
 * Runs the command line in this process: for what says the same in any, since the start of one costs more than most
 * commands.
 */
export async function runHere(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Omit<Ended, 'signal'>> {
  const ended = { code: null as number | null, stdout: '', stderr: '' };
  const written = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((piece) => {
      ended[name] += piece;
      return true;
    }),
  );
  for (const [name, value] of Object.entries({ LOG_LEVEL: 'info', ...env })) vi.stubEnv(name, value);
  try {
    await runProgram(args, '', ((code: number) => {
      ended.code = code;
    }) as never);
  } finally {
    vi.unstubAllEnvs();
    for (const one of written) one.mockRestore();
  }
  return ended;
}
