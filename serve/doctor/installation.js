// Whether what the program needs is installed. Plain JavaScript without packages: `serve/bin.js` asks it when nothing
// else can run, and on any Node.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const NODE_MAJOR = 24;
const HOME = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const REMEDY = 'run `npm ci` in the folder of the program, or install the package again';
const NAMES_MAX = 5;

const isRightNode = Number(process.versions.node.split('.')[0]) >= NODE_MAJOR;

/** The findings about Node, the packages and the library of the engine. */
export function checkInstallation(profile = process.env.PROFILE || 'embedded', home = HOME) {
  const { dependencies } = manifestIn(home);
  // The image of the distributed profile has no engine, and Node by itself.
  const isNeeded = (name) => (name === 'node' ? !isRightNode : name !== 'chdb' || profile === 'embedded');
  const faults = Object.keys(dependencies)
    .filter(isNeeded)
    .flatMap((name) => {
      const version = versionOf(name, home);
      if (version === dependencies[name]) return [];
      return [version === null ? `${name} is missing` : `${name} is ${version}, not ${dependencies[name]}`];
    });
  return [nodeFinding(), packagesFinding(faults), ...(profile === 'embedded' ? [libraryFinding(home)] : [])];
}

function nodeFinding() {
  const text = `${process.versions.node} on ${process.platform} ${process.arch}`;
  if (isRightNode) return finding('node', 'ok', text);
  return finding('node', 'failed', `${text}; the program runs on Node ${NODE_MAJOR} or newer`, REMEDY);
}

function packagesFinding(faults) {
  if (faults.length === 0)
    return finding('packages', 'ok', 'all are installed, in the versions that were tested');
  const more = faults.length > NAMES_MAX ? `, and ${faults.length - NAMES_MAX} more` : '';
  return finding('packages', 'failed', `${faults.slice(0, NAMES_MAX).join(', ')}${more}`, REMEDY);
}

/** The engine is a library of its own for each platform, which npm installs unless it is told to omit it. */
function libraryFinding(home) {
  const folder = folderOf('chdb', home);
  if (folder === null) return finding('engine', 'failed', 'chdb is missing', REMEDY);
  const names = Object.keys(manifestIn(folder).optionalDependencies ?? {});
  const wanted = `-${process.platform}-${process.arch}`;
  const name = names.find((one) => `${one}-`.includes(`${wanted}-`));
  if (name === undefined) {
    const remedy = 'use Linux with glibc or macOS, on x64 or arm64, or the distributed profile';
    return finding('engine', 'failed', `there is no engine for ${process.platform} ${process.arch}`, remedy);
  }
  if (folderOf(name, folder) !== null) return finding('engine', 'ok', `${name} ${versionOf(name, folder)}`);
  return finding('engine', 'failed', `${name} is missing`, 'run `npm ci` without `--omit=optional`');
}

const finding = (check, state, text, remedy = null) => ({ check, state, text, remedy });

const manifestIn = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

/** Where a package is installed, as seen from a folder; null when it is not. */
function folderOf(name, from) {
  const places = createRequire(join(from, 'package.json')).resolve.paths(name) ?? [];
  return (
    places.map((place) => join(place, name)).find((folder) => existsSync(join(folder, 'package.json'))) ??
    null
  );
}

function versionOf(name, from) {
  const folder = folderOf(name, from);
  return folder === null ? null : manifestIn(folder).version;
}
