import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { settings } from '../infra/config/config.ts';

const ROOT = new URL('..', import.meta.url).pathname;
/** From the ground up: each may import what stands before it. */
const STOREYS = ['infra', 'ingest', 'aggregate', 'serve'] as const;
/** Where everything is put together: the only files of the ground that know what stands above. */
const COMPOSITION = ['serve/main.ts', 'serve/bin.js'];
const FILE_LINES_MAX = 350;
const FUNCTION_LINES_MAX = 70;

interface Source {
  readonly path: string;
  readonly text: string;
  /** Files of this repository that it imports. */
  readonly imports: readonly string[];
  /** Those among them that are there when the program runs: types are erased. */
  readonly lasting: readonly string[];
  readonly packages: readonly string[];
}

function filesUnder(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|js)$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort();
}

const TYPES_ALONE = /\b(?:im|ex)port\s+type\b[^;]*;/g;
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*)(['"])([^'"\n]+)\1/g;

function read(path: string): Source {
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
    lasting: filesIn(text.replace(TYPES_ALONE, '')),
    packages: namedIn(text).filter((name) => !name.startsWith('.')),
  };
}

const product = STOREYS.flatMap(filesUnder).map(read);
const tests = filesUnder('test').map(read);
const all = [...product, ...tests];
const storeyOf = (path: string) => STOREYS.findIndex((storey) => path.startsWith(`${storey}/`));

/** All files that are there when this one runs. */
function reachedFrom(path: string): string[] {
  const reached = new Set([path]);
  for (const one of reached) {
    for (const to of all.find((other) => other.path === one)?.lasting ?? []) reached.add(to);
  }
  return [...reached];
}

/** Scripts that people run by hand. */
const BY_HAND = /^test\/(bench|soak)\//;

describe('the house', () => {
  test('imports run one way: infra ← ingest ← aggregate ← serve; tests see all', () => {
    const upward = product
      .filter(({ path }) => !COMPOSITION.includes(path))
      .flatMap(({ path, imports }) =>
        imports
          .filter((to) => storeyOf(to) > storeyOf(path) || to.startsWith('test/') || COMPOSITION.includes(to))
          .map((to) => `${path} → ${to}`),
      );
    expect(upward).toEqual([]);
  });

  test('every import names a file that is there, with its ending', () => {
    const broken = all.flatMap(({ path, imports }) =>
      imports
        .filter((to) => !existsSync(join(ROOT, to)) || !/\.(ts|js|json)$/.test(to))
        .map((to) => `${path} → ${to}`),
    );
    expect(broken).toEqual([]);
  });

  test('nothing imports itself in a circle', () => {
    const graph = new Map(all.map(({ path, lasting }) => [path, lasting]));
    const done = new Set<string>();
    const circles: string[] = [];
    const walk = (path: string, trail: readonly string[]): void => {
      if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
      else if (!done.has(path)) for (const to of graph.get(path) ?? []) walk(to, [...trail, path]);
      done.add(path);
    };
    for (const { path } of all) walk(path, []);
    expect(circles).toEqual([]);
  });

  test('every file is used: imported, run by its name, or a test', () => {
    const scripts = ['package.json', '.vitest.config.ts']
      .map((name) => readFileSync(join(ROOT, name), 'utf8'))
      .join('\n');
    const imported = new Set(all.flatMap(({ imports }) => imports));
    const isNamed = (path: string) => {
      const name = new RegExp(`['"/]${path.split('/').at(-1)?.replaceAll('.', '\\.')}\\b`);
      return scripts.includes(path) || all.some((other) => other.path !== path && name.test(other.text));
    };
    const unused = all
      .map(({ path }) => path)
      .filter(
        (path) => !imported.has(path) && !path.endsWith('.test.ts') && !BY_HAND.test(path) && !isNamed(path),
      );
    expect(unused).toEqual([]);
  });

  test(`no file of the product is longer than ${FILE_LINES_MAX} lines`, () => {
    const long = product
      .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
      .filter(({ lines }) => lines > FILE_LINES_MAX);
    expect(long).toEqual([]);
  });

  test(`no function of the product is longer than ${FUNCTION_LINES_MAX} lines, SQL not counted`, () => {
    const long = product.flatMap(({ path, text }) =>
      functionsOf(text)
        .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
        .map(({ at, lines }) => `${path}:${at} has ${lines} lines`),
    );
    expect(long).toEqual([]);
  });
});

describe('the engine', () => {
  test('gets its settings in the statement: given to the client they would stick to its connection', () => {
    // A server's address carries them for one statement alone.
    const overHttp = ['infra/distributed/store.ts', 'test/infra/distributed/clickhouse.test.ts'];
    expect(
      all
        .filter(({ path, text }) => path !== 'test/house.test.ts' && text.includes('clickhouse_settings'))
        .map(({ path }) => path)
        .filter((path) => !overHttp.includes(path)),
    ).toEqual([]);
  });

  test('is opened in one place, and never in a worker thread', () => {
    const openers = product.filter(({ packages }) => packages.some((name) => /^chdb(\/|$)/.test(name)));
    expect(openers.map(({ path }) => path)).toEqual(['infra/embedded/store.ts']);
    const workers = all.filter(({ packages }) =>
      packages.some((name) => /^(node:)?worker_threads$/.test(name)),
    );
    expect(workers.map(({ path }) => path)).toEqual([
      'aggregate/runner/fold-worker.ts',
      'aggregate/runner/folding.ts',
    ]);
    expect(reachedFrom('aggregate/runner/fold-worker.ts')).not.toContain('infra/embedded/store.ts');
    expect(readFileSync(join(ROOT, '.vitest.config.ts'), 'utf8')).toContain("pool: 'forks'");
  });
});

describe('words', () => {
  test('every setting is named in the README', () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    expect(Object.keys(settings.shape).filter((name) => !readme.includes(name))).toEqual([]);
  });

  test('nothing is left for later in a comment', () => {
    const mark = new RegExp(
      `\\b(${['TO', 'FIX', 'X'].map((half, i) => half + ['DO', 'ME', 'XX'][i]).join('|')})\\b`,
    );
    expect(all.filter(({ text }) => mark.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test('the product writes through its log, the command line to its terminal', () => {
    const writers = product.filter(
      ({ path, text }) => !path.startsWith('serve/cli/') && /\bconsole\.\w+\(/.test(text),
    );
    expect(writers.map(({ path }) => path)).toEqual([]);
  });

  test('no test is switched off or alone', () => {
    const off = /\b(?:test|it|describe)\.(?:skip|only|fails)\b/;
    expect(tests.filter(({ text }) => off.test(text)).map(({ path }) => path)).toEqual([]);
  });
});

/** Where functions with a body begin and how many lines they have, by their braces. */
function functionsOf(text: string): { at: number; lines: number }[] {
  const code = withoutTexts(text);
  const found: { at: number; lines: number }[] = [];
  const open: { isFunction: boolean; line: number }[] = [];
  let line = 1;
  for (let i = 0; i < code.length; i++) {
    if (code[i] === '\n') line++;
    else if (code[i] === '{')
      open.push({ isFunction: opensFunction(code.slice(Math.max(0, i - 600), i)), line });
    else if (code[i] === '}') {
      const block = open.pop();
      if (block?.isFunction) found.push({ at: block.line, lines: line - block.line + 1 });
    }
  }
  return found;
}

/** Whether a brace behind this text is a function's: after an arrow, or after parameters that no keyword begins. */
function opensFunction(before: string): boolean {
  if (/=>\s*$/.test(before)) return true;
  const tail = /\)\s*(?::[^;{}=]*)?$/.exec(before);
  if (!tail) return false;
  let depth = 0;
  for (let i = tail.index; i >= 0; i--) {
    if (before[i] === ')') depth++;
    if (before[i] === '(' && --depth === 0)
      return !/\b(if|for|while|switch|catch|await)\s*$/.test(before.slice(0, i));
  }
  return false;
}

/** The code alone: comments, strings and regular expressions are emptied, templates lose their lines as well. */
function withoutTexts(text: string): string {
  const token =
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[(,=:[!&|?{};]\s*|return\s+)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/g;
  return text.replace(token, (found) => (found.startsWith('/*') ? found.replace(/[^\n]/g, '') : ''));
}
