import { vi } from 'vitest';
import { runProgram } from '../../../serve/cli/program.ts';
import type { Ended } from './program.ts';

/** What a command says that ends before it opens anything: in this process, since one of its own costs more than the rest. */
export async function refusal(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Pick<Ended, 'code' | 'stderr'>> {
  let code: number | null = null;
  let stderr = '';
  const written = vi.spyOn(process.stderr, 'write').mockImplementation((piece) => {
    stderr += piece;
    return true;
  });
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  try {
    await runProgram(args, '', ((exitCode: number) => {
      code = exitCode;
    }) as never);
  } finally {
    vi.unstubAllEnvs();
    written.mockRestore();
  }
  return { code, stderr };
}
