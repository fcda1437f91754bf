import { readColourOption } from './cli/colour.ts';
import { EXIT } from './cli/failure.ts';
import { endWithParent } from './cli/parent.ts';
import { runProgram } from './cli/program.ts';
import { guardStandardInput, wantsStandardInput } from './cli/standard-input.ts';
import { VERSION } from './version.ts';

// The entry of every process: the command line. Domains are imported by the commands that need them.

/** Ends at once: chDB leaves threads behind that need no waiting. */
function finish(exitCode: number): never {
  process.exit(exitCode);
}

// A reader that closes the pipe early, such as `head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  finish(error.code === 'EPIPE' ? EXIT.ok : EXIT.failure),
);

endWithParent();
readColourOption(process.argv.slice(2), process.env);
guardStandardInput(wantsStandardInput(process.argv.slice(2)));
await runProgram(process.argv.slice(2), VERSION, finish);
