import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export const ROOT = new URL('../..', import.meta.url).pathname;
/** Each folder may import those before it. */
export const FOLDERS = ['infra', 'ingest', 'aggregate', 'serve'] as const;

/** A TypeScript or JavaScript file of this repository. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
  /** Files of this repository that it imports, types included. */
  readonly imports: readonly string[];
  /** Those that are loaded when the program runs: types are erased. */
  readonly runtimeImports: readonly string[];
  readonly packages: readonly string[];
}

/** Git ignores it: `npm run generate:clients` writes it. */
export const GENERATED = 'serve/clients/typescript/src/schema.ts';
/** The output of the build of a client. */
const BUILT = /\/dist\//;
const TYPE_IMPORTS = /\b(?:im|ex)port\s+type\b[^;]*;/g;
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*)(['"])([^'"\n]+)\1/g;

/** The texts of this repository, from its first page to the guides. */
export const documents = [
  ...readdirSync(ROOT),
  ...[...FOLDERS, 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  ),
].filter((path) => path.endsWith('.md'));
export const product = FOLDERS.flatMap(filesUnder).map(read);
export const tests = filesUnder('test').map(read);
const all = new Map([...product, ...tests].map((file) => [file.path, file]));

/** All files that are loaded when this one is, itself included. */
export function filesReachedFrom(path: string): SourceFile[] {
  const reached = new Set([path]);
  for (const one of reached) {
    for (const to of all.get(one)?.runtimeImports ?? []) reached.add(to);
  }
  return [...reached].flatMap((one) => all.get(one) ?? []);
}

function filesUnder(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(tsx?|js)$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((path) => !BUILT.test(path) && path !== GENERATED)
    .sort();
}

function read(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const namedIn = (code: string) => [...code.matchAll(IMPORT)].map((match) => match[2] as string);
  const filesIn = (code: string) =>
    namedIn(code)
      .filter((name) => name.startsWith('.'))
      .map((name) => join(dirname(path), name));
  return {
    path,
    text,
    imports: filesIn(text),
    runtimeImports: filesIn(text.replace(TYPE_IMPORTS, '')),
    packages: namedIn(text).filter((name) => !name.startsWith('.')),
  };
}
