import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { parseSync } from 'vite';
import { ROOT } from './source-files.ts';

type Node = { readonly type: string; readonly [field: string]: unknown };

/** The declarations at the top of a module by name, and what it imports under which name from where. */
interface Module {
  readonly declared: ReadonlyMap<string, Node>;
  readonly imported: ReadonlyMap<string, { readonly from: string; readonly name: string }>;
}

/** A declaration of a module, or a part of it that stands at the end of a path of property names. */
export interface CodeRoot {
  readonly path: string;
  readonly name: string;
  readonly property?: string;
}

/**
 * A hash of the code that can run from these roots: of every declaration of this repository that one of them names,
 * or that another such declaration names. Comments, types, layout, and code beside it do not change it.
 */
export function hashOfReachableCode(roots: readonly CodeRoot[]): string {
  const hash = createHash('sha256');
  for (const text of reachableCode(roots)) hash.update(`${text}\n`);
  return hash.digest('hex').slice(0, 16);
}

function reachableCode(roots: readonly CodeRoot[]): string[] {
  const found = new Map<string, string>();
  const reach = ({ path, name, property }: CodeRoot): void => {
    const key = `${path} ${name} ${property ?? ''}`;
    if (found.has(key)) return;
    const module = moduleAt(path);
    const source = module.imported.get(name);
    if (source) {
      found.set(key, '');
      if (source.from.startsWith('.')) reach({ path: join(dirname(path), source.from), name: source.name });
      return;
    }
    const whole = module.declared.get(name);
    const node = whole && property ? propertyOf(whole, property) : whole;
    if (!node) throw new Error(`${path} has no ${name}${property ? ` with ${property}` : ''}`);
    found.set(key, JSON.stringify(node, withoutPlaces));
    for (const used of namesIn(node)) {
      if (module.declared.has(used) || module.imported.has(used)) reach({ path, name: used });
    }
  };
  roots.forEach(reach);
  return [...found.values()].filter((text) => text !== '').sort();
}

const modules = new Map<string, Module>();

function moduleAt(path: string): Module {
  const known = modules.get(path);
  if (known) return known;
  const text = stripTypeScriptTypes(readFileSync(join(ROOT, path), 'utf8'));
  const { program, errors } = parseSync(path.replace(/\.ts$/, '.js'), text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const declared = new Map<string, Node>();
  const imported = new Map<string, { from: string; name: string }>();
  for (const statement of program.body as unknown as Node[]) {
    if (
      statement.type === 'ImportDeclaration' ||
      (statement.type === 'ExportNamedDeclaration' && statement.source)
    ) {
      const from = (statement.source as Node).value as string;
      for (const one of statement.specifiers as Node[]) imported.set(...specifierOf(one, from));
    } else if (statement.type === 'ExportAllDeclaration') {
      throw new Error(`${path} exports all of another module: name what it exports`);
    } else {
      const declaration = (statement.declaration ?? statement) as Node;
      for (const [name, node] of declarationsOf(declaration)) declared.set(name, node);
    }
  }
  const module = { declared, imported };
  modules.set(path, module);
  return module;
}

function specifierOf(one: Node, from: string): [string, { from: string; name: string }] {
  const nameOf = (field: string) => (one[field] as Node | undefined)?.name as string | undefined;
  // `import { imported as local } from` and `export { local as exported } from`
  return one.type === 'ExportSpecifier'
    ? [nameOf('exported') ?? '', { from, name: nameOf('local') ?? '' }]
    : [nameOf('local') ?? '', { from, name: nameOf('imported') ?? 'default' }];
}

function declarationsOf(declaration: Node): [string, Node][] {
  if (declaration.type === 'VariableDeclaration')
    return (declaration.declarations as Node[]).flatMap((one) =>
      namesIn(one.id as Node).map((name): [string, Node] => [name, one]),
    );
  const id = declaration.id as Node | null | undefined;
  return id ? [[id.name as string, declaration]] : [];
}

/** The value of a property of the object literal that a declaration passes to a function. */
function propertyOf({ init }: Node, property: string): Node | undefined {
  const [object] = ((init as Node).arguments ?? []) as Node[];
  const found = ((object?.properties ?? []) as Node[]).find(
    ({ key }) => (key as Node | undefined)?.name === property,
  );
  return found?.value as Node | undefined;
}

/** The identifiers of a syntax tree, without the names of properties. */
function namesIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(namesIn);
  if (typeof node !== 'object' || node === null) return [];
  const { type, name, computed } = node as Node;
  if (type === 'Identifier') return [name as string];
  const isName = (field: string) =>
    !computed &&
    ((type === 'MemberExpression' && field === 'property') || (type === 'Property' && field === 'key'));
  return Object.entries(node).flatMap(([field, value]) => (isName(field) ? [] : namesIn(value)));
}

const withoutPlaces = (field: string, value: unknown) =>
  ['start', 'end', 'raw', 'range', 'loc'].includes(field)
    ? undefined
    : typeof value === 'bigint'
      ? `${value}n`
      : value;
