import { basename, dirname } from 'node:path';
import type { Reporter } from 'vitest/node';

/** Says after the results which test files did not run, and which command runs them. */
export function reportLeftOut(files: readonly string[]): Reporter {
  return {
    onTestRunEnd() {
      const byFolder = Object.entries(Object.groupBy(files, dirname)).map(
        ([folder, paths = []]) =>
          `  ${folder}: ${paths.map((path) => basename(path, '.test.ts')).join(', ')}`,
      );
      process.stdout.write(
        `\nNot run: ${files.length} files that take longer or drive other programs, by folder:\n${byFolder.join('\n')}\n` +
          'Run them with `npm run test:rest`, or everything with `npm run test:all`.\n',
      );
    },
  };
}
