import { readColourOption } from './cli/colour.ts';
import { EXIT } from './cli/failure.ts';
import { endWithParent } from './cli/parent.ts';
import { runProgram } from './cli/program.ts';
import { outputFailure } from './cli/rows-output.ts';
import { guardStandardInput, wantsStandardInput } from './cli/standard-input.ts';
import { VERSION } from './version.ts';

// The entry of every process: the command line. Domains are imported by the commands that need them.

/** Why standard output takes nothing any more. A reader that closes the pipe early, such as `head`, is no failure. */
let failure: NodeJS.ErrnoException | undefined;
process.stdout.on('error', (error) => {
  failure ??= error;
  // A command that goes on by itself has nobody to tell any more. Others are at their end, and the engine may be at work.
  if (process.listenerCount('SIGTERM') > 0) process.kill(process.pid, 'SIGTERM');
});

/** Ends at once: chDB leaves threads behind that need no waiting. */
function finish(exitCode: number): never {
  if (failure === undefined || failure.code === 'EPIPE' || exitCode !== EXIT.ok) process.exit(exitCode);
  process.stderr.write(`chain-metrics: ${outputFailure(failure).message}\n`);
  process.exit(EXIT.failure);
}

endWithParent();
readColourOption(process.argv.slice(2), process.env);
guardStandardInput(wantsStandardInput(process.argv.slice(2)));
await runProgram(process.argv.slice(2), VERSION, finish);
