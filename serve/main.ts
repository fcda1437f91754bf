import { VERSION } from '../infra/version.ts';
import { readColourOption } from './application/cli/colour.ts';
import { EXIT } from './application/cli/failure.ts';
import { endWithNpx } from './application/cli/parent.ts';
import { outputFailure } from './application/cli/rows-output.ts';
import { detachStandardInput, readsStandardInput } from './application/cli/standard-input.ts';
import { runProgram } from './application/program.ts';

// The entry of every process: the command line. Domains are imported by the commands that need them.

/** The first write error of standard output. EPIPE is no failure: a reader such as `head` closes the pipe early. */
let failure: NodeJS.ErrnoException | undefined;
process.stdout.on('error', (error) => {
  // The command runs to its end: chDB may be in the middle of a write.
  failure ??= error;
});

/** Exits at once: chDB leaves threads running that would keep the process alive. */
function finish(exitCode: number): never {
  if (failure === undefined || failure.code === 'EPIPE' || exitCode !== EXIT.ok) process.exit(exitCode);
  process.stderr.write(`chain-metrics: ${outputFailure(failure).message}\n`);
  process.exit(EXIT.failure);
}

endWithNpx();
readColourOption(process.argv.slice(2), process.env);
const keepContent = readsStandardInput(process.argv.slice(2));
if (keepContent !== undefined) detachStandardInput({ keepContent });
await runProgram(process.argv.slice(2), VERSION, finish);
