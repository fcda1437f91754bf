import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CORE, groups } from './support/groups.ts';
import {
  documents,
  FOLDERS,
  filesReachedFrom,
  GENERATED,
  product,
  ROOT,
  type SourceFile,
  tests,
} from './support/source-files.ts';

/** Stand above everything: nothing imports them, but the second starts the first. */
const ENTRIES = ['serve/main.ts'];
const PRODUCT_LINES_MAX = 350;
const TEST_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;

const all = [...product, ...tests];
const folderOf = (path: string) => FOLDERS.findIndex((folder) => path.startsWith(`${folder}/`));
const linesOf = ({ text }: SourceFile) => text.trimEnd().split('\n').length;

/** Scripts that people run by hand. */
const BY_HAND = /^test\/(bench|soak)\//;

describe('the house', () => {
  test('imports run one way: infra ← ingest ← aggregate ← serve; tests see all', () => {
    const wrong = product.flatMap(({ path, imports }) =>
      imports
        .filter((to) => folderOf(to) > folderOf(path) || to.startsWith('test/'))
        .map((to) => `${path} → ${to}`),
    );
    expect(wrong).toEqual([]);
  });

  test('nothing imports the entries of the program', () => {
    const wrong = all
      .filter(({ path }) => !ENTRIES.includes(path))
      .flatMap(({ path, imports }) =>
        imports.filter((to) => ENTRIES.includes(to)).map((to) => `${path} → ${to}`),
      );
    expect(wrong).toEqual([]);
  });

  test('every import names a file that is there, with its ending', () => {
    const broken = all.flatMap(({ path, imports }) =>
      imports
        .filter((to) => to !== GENERATED)
        .filter((to) => !existsSync(join(ROOT, to)) || !/\.(tsx?|js|json|css)$/.test(to))
        .map((to) => `${path} → ${to}`),
    );
    expect(broken).toEqual([]);
  });

  test('nothing imports itself in a circle, in the product not even for its types', () => {
    const graph = new Map([
      ...product.map(({ path, imports }) => [path, imports] as const),
      ...tests.map(({ path, runtimeImports }) => [path, runtimeImports] as const),
    ]);
    expect(circlesOf(graph)).toEqual([]);
  });

  test('no folder imports itself in a circle', () => {
    const files = Map.groupBy(product, ({ path }) => dirname(path));
    const graph = new Map(
      [...files].map(([folder, inside]) => {
        const others = inside.flatMap(({ imports }) => imports.map((to) => dirname(to)));
        return [folder, [...new Set(others.filter((other) => other !== folder))]] as const;
      }),
    );
    expect(circlesOf(graph)).toEqual([]);
  });

  test('values and types are exported for another file', () => {
    const declaration =
      /^export\s+(?:async\s+)?(?:const|let|function\*?|class|enum|type|interface)\s+([\w$]+)/gm;
    const importers = new Map<string, Set<string>>();
    for (const { text, imports } of all) {
      const words = text.match(/[\w$]+/g) ?? [];
      for (const path of imports) importers.set(path, new Set([...(importers.get(path) ?? []), ...words]));
    }
    const alone = product.flatMap(({ path, text }) =>
      [...text.matchAll(declaration)].flatMap(([, name = '']) =>
        importers.get(path)?.has(name) ? [] : [`${path}: ${name}`],
      ),
    );
    expect(alone).toEqual([]);
  });

  test('exported types have names of their own', () => {
    const declaration = /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:type|interface|class|enum)\s+([\w$]+)/gm;
    const files = new Map<string, string[]>();
    for (const { path, text } of product) {
      for (const [, name = ''] of text.matchAll(declaration)) {
        files.set(name, [...(files.get(name) ?? []), path]);
      }
    }
    expect([...files].filter(([, paths]) => paths.length > 1)).toEqual([]);
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
        (path) =>
          !imported.has(path) && !/\.(test|d)\.ts$/.test(path) && !BY_HAND.test(path) && !isNamed(path),
      );
    expect(unused).toEqual([]);
  });

  test(`no file of the product is longer than ${PRODUCT_LINES_MAX} lines, none of its tests than ${TEST_LINES_MAX}`, () => {
    const long = [
      ...product.filter((file) => linesOf(file) > PRODUCT_LINES_MAX),
      ...tests.filter((file) => linesOf(file) > TEST_LINES_MAX),
    ];
    expect(long.map((file) => `${file.path} has ${linesOf(file)} lines`)).toEqual([]);
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
      // It ends one.
      'test/aggregate/runner/folding.test.ts',
    ]);
    expect(filesReachedFrom('aggregate/runner/fold-worker.ts').map(({ path }) => path)).not.toContain(
      'infra/embedded/store.ts',
    );
    expect(readFileSync(join(ROOT, '.vitest.config.ts'), 'utf8')).toContain("pool: 'forks'");
  });
});

describe('the tests', () => {
  test('each belongs to one group, by what it loads', () => {
    const files = tests.map(({ path }) => path).filter((path) => path.endsWith('.test.ts'));
    expect(Object.values(groups).flat().sort()).toEqual(files.sort());
  });

  test('each promise of the core names files that are there', () => {
    const places = Object.values(CORE).flat();
    expect(places.filter((place) => !groups.core.some((path) => path.startsWith(place)))).toEqual([]);
  });

  test('none is switched off or alone', () => {
    const off = /\b(?:test|it|describe)\.(?:skip|only|fails)\b/;
    expect(tests.filter(({ text }) => off.test(text)).map(({ path }) => path)).toEqual([]);
  });
});

describe('words', () => {
  test('names and sentences use the terms of the field', () => {
    const pages = documents.map((path) => ({
      path,
      text: readFileSync(join(ROOT, path), 'utf8'),
    }));
    // Dead letters are not buried, blocks are canonical, days are dirty and consumers retry: see the glossary.
    const foreign =
      /\b(?:bur(?:y|ied|ies)|exhume\w*|living|inlets?|patiently|keepAccounts|engineWords|desks?|whoever|wakes|woken|anew|telling)\b|\bMOST_|[a-z]Most\b/;
    const found = [...product, ...pages].flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, i) => {
        const word = foreign.exec(line)?.[0];
        return word === undefined ? [] : [`${path}:${i + 1} says ${word}`];
      }),
    );
    expect(found).toEqual([]);
  });

  test('nothing is left for later in a comment', () => {
    const mark = new RegExp(
      `\\b(${['TO', 'FIX', 'X'].map((half, i) => half + ['DO', 'ME', 'XX'][i]).join('|')})\\b`,
    );
    expect(all.filter(({ text }) => mark.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test('the product writes through its log, the command line to its terminal', () => {
    const writers = product.filter(
      ({ path, text }) =>
        !path.startsWith('serve/application/cli/') && /\bconsole\.\w+\(/.test(withoutTexts(text)),
    );
    expect(writers.map(({ path }) => path)).toEqual([]);
  });
});

function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const walk = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    else if (!done.has(path)) for (const to of graph.get(path) ?? []) walk(to, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) walk(path, []);
  return circles;
}

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
