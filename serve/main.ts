import { CommanderError } from 'commander';
import { paint, readColourOption } from './cli/colour.ts';
import { EXIT, explainFailure } from './cli/failure.ts';
import { endWithParent } from './cli/parent.ts';
import { buildProgram } from './cli/program.ts';
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
try {
  await buildProgram(VERSION, finish).parseAsync();
} catch (error) {
  // Commander has printed its own errors already; its errors include help and version.
  if (error instanceof CommanderError) finish(error.exitCode === 0 ? EXIT.ok : EXIT.usage);
  const { text, exitCode } = explainFailure(error);
  process.stderr.write(`${paint('bad', 'chain-metrics:', process.stderr)} ${text}\n`);
  finish(exitCode);
}
