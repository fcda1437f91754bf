import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DENO } from '../../support/needed.ts';
import { ROOT } from '../../support/source-files.ts';

const run = promisify(execFile);
const PROGRAM = join(import.meta.dirname, 'programs/typescript.ts');

/** What strict projects compile with, and no types of Node. */
const OPTIONS = {
  compilerOptions: {
    target: 'es2022',
    module: 'nodenext',
    lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: [],
    noEmit: true,
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
  },
  include: ['**/*.ts'],
};

/**
 * A project in an empty folder with the client, packed as its README says and installed without a registry:
 * openapi-fetch is taken from the packages of this repository.
 */
export async function typescriptProject(folder: string): Promise<string> {
  const project = join(folder, 'project');
  const destination = ['--silent', '--pack-destination', folder];
  await run('npm', ['pack', './serve/clients/typescript', ...destination], { cwd: ROOT });
  const [packed = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  const local = ['openapi-fetch', 'openapi-typescript-helpers'].map((name) =>
    join(ROOT, 'node_modules', name),
  );
  const flags = ['--offline', '--install-links', '--no-audit', '--no-fund', '--no-package-lock'];
  await run('npm', ['install', ...flags, join(folder, packed), ...local], { cwd: project });
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(OPTIONS));
  cpSync(PROGRAM, join(project, 'program.ts'));
  writeFileSync(join(project, 'runner.js'), RUNNER);
  return project;
}

/** Adds modules to a project. */
export function addModules(project: string, sources: readonly string[]): void {
  mkdirSync(join(project, 'samples'));
  sources.forEach((source, i) => {
    writeFileSync(join(project, `samples/${i}.ts`), source);
  });
}

/** What the compiler says of a project; empty when nothing. */
export async function compile(project: string): Promise<string> {
  const done = await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', project]).catch(
    ({ stdout }: { stdout: string }) => ({ stdout }),
  );
  return done.stdout;
}

/** Calls functions of a module with what it reads: its arguments are the module and their names. */
const RUNNER = `import process from 'node:process';
const [module, ...names] = process.argv.slice(2);
const program = await import(module);
let given = '';
for await (const part of process.stdin) given += part;
const answers = {};
for (const name of names) answers[name] = await program[name](JSON.parse(given));
process.stdout.write(JSON.stringify(answers));
`;

/** What runs the program. */
const RUNTIMES = {
  node: [process.execPath],
  deno: [DENO, 'run', '--quiet', '--no-lock', '--allow-net', '--allow-read'],
} as const;

/** What functions of the program answer, in a process of its own. */
export async function runProgram(
  project: string,
  names: readonly string[],
  given: object,
  runtime: keyof typeof RUNTIMES = 'node',
): Promise<Record<string, unknown>> {
  const [program, ...flags] = RUNTIMES[runtime];
  const running = run(program, [...flags, 'runner.js', join(project, 'program.ts'), ...names], {
    cwd: project,
    maxBuffer: 64 * 2 ** 20,
  });
  running.child.stdin?.end(JSON.stringify(given));
  return JSON.parse((await running).stdout);
}
