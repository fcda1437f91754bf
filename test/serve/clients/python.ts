import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { canInstall, keptPython } from '../../support/python.ts';
import { ROOT } from '../../support/source-files.ts';

const run = promisify(execFile);
const NAME = 'python-client';
const KEPT = keptPython(NAME);
const PACKAGES = [
  'requests==2.34.2',
  'pandas==3.1.1',
  'polars==2.1.0',
  'pyarrow==26.0.1',
  'hatchling==1.33.0',
  'mypy==2.4.1',
];
const PROGRAMS = join(import.meta.dirname, 'programs');
const PIP = ['-m', 'pip', '--disable-pip-version-check'];

/** Whether what the client stands on could be installed. */
export const canRunPython = (): boolean => canInstall(NAME, PACKAGES);

/** The Python of an environment that has only the wheel, built as its README says, and what it needs. */
export async function pythonProject(folder: string): Promise<string> {
  const [source, project] = [join(ROOT, 'serve/clients/python'), join(folder, 'project')];
  const python = join(project, 'bin/python');
  await run('npm', ['run', 'generate:clients'], { cwd: ROOT });
  const wheel = [...PIP, 'wheel', '-q', '--no-deps', '--no-build-isolation', '-w', folder, source];
  await Promise.all([run(KEPT, wheel), run('python3', ['-m', 'venv', '--without-pip', project])]);
  const [packed = ''] = readdirSync(folder).filter((name) => name.endsWith('.whl'));
  const [site = ''] = (await run(python, ['-c', SITE])).stdout.split('\n');
  const [shared = ''] = (await run(KEPT, ['-c', SITE])).stdout.split('\n');
  writeFileSync(join(site, 'shared.pth'), `${shared}\n`);
  await run(KEPT, [
    ...PIP,
    'install',
    '-q',
    '--no-index',
    '--target',
    site,
    '--no-deps',
    join(folder, packed),
  ]);
  return python;
}

const SITE = "import sysconfig; print(sysconfig.get_path('purelib'))";

/** What the type checker says of a program; empty when nothing. */
export async function checkTypes(python: string, folder: string): Promise<string> {
  const flags = ['--strict', '--no-error-summary', '--cache-dir', join(folder, 'mypy')];
  const mypy = ['-m', 'mypy', '--python-executable', python, ...flags, join(PROGRAMS, 'typed.py')];
  const done = await run(KEPT, mypy).catch(({ stdout }: { stdout: string }) => ({
    stdout,
  }));
  return done.stdout;
}

/** What functions of the program answer, in a process of its own. */
export async function runPython(
  python: string,
  names: readonly string[],
  given: object,
): Promise<Record<string, unknown>> {
  const running = run(python, [join(PROGRAMS, 'client.py'), ...names], { maxBuffer: 64 * 2 ** 20 });
  running.child.stdin?.end(JSON.stringify(given));
  return JSON.parse((await running).stdout);
}
