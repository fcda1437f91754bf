// Runs before the tests: says what is wrong with an installation that was copied without its symbolic links, in which
// the programs of `node_modules/.bin` are missing or cannot find their own files. Any Node has to read it.
import { lstatSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../node_modules/.bin/vitest', import.meta.url));
const found = lstatSync(program, { throwIfNoEntry: false });
if (!found?.isSymbolicLink() && process.platform !== 'win32') {
  const fault = found ? 'was copied without its symbolic links' : 'is missing or incomplete';
  process.stderr.write(`node_modules ${fault}: run \`npm ci\`\n`);
  process.exit(1);
}
