import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isInstalled } from './service.ts';

const { XDG_CACHE_HOME = join(homedir(), '.cache') } = process.env;
const POM = fileURLToPath(new URL('./kafka-pom.xml', import.meta.url));
const run = promisify(execFile);

/** The folder of Kafka's own jars. */
export const kafkaLibraries = () => jars('kafka-4.1.0', POM);

/** A folder with the jars of a POM, fetched once by Maven; the name says their version. */
export async function jars(name: string, pom: string): Promise<string> {
  const folder = join(XDG_CACHE_HOME, 'chain-metrics', name);
  if (existsSync(folder)) return folder;
  for (const program of ['java', 'mvn']) {
    if (!(await isInstalled(program))) throw new Error(`${program} is not installed`);
  }
  const part = `${folder}.${process.pid}.part`;
  mkdirSync(part, { recursive: true });
  await run('mvn', ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${part}`]);
  // Another process may have been quicker.
  if (existsSync(folder)) rmSync(part, { recursive: true });
  else renameSync(part, folder);
  return folder;
}

if (import.meta.main) process.stdout.write(`${await kafkaLibraries()}\n`);
