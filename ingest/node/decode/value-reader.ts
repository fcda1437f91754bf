import type { UnifiedMetadata } from '@polkadot-api/substrate-bindings';
import type { AccountTexts } from './accounts.ts';
import type { Cursor } from './cursor.ts';

/** Reads one value of a type and writes the JSON text that Sidecar would. */
export type ValueReader = (cursor: Cursor) => string;

export type TypeEntry = UnifiedMetadata['lookup'][number];

type Def<Tag extends TypeEntry['def']['tag']> = Extract<TypeEntry['def'], { tag: Tag }>['value'];

/** A field of a struct, a variant, an event or a call. */
export type Field = Def<'composite'>[number];
export type Variant = Def<'variant'>[number];
export type Primitive = Def<'primitive'>['tag'];

/** Readers by type id. */
export interface TypeReaders {
  readonly accounts: AccountTexts;
  entry(type: number): TypeEntry;
  isNull(type: number): boolean;
  reader(type: number): ValueReader;
  list(fields: readonly Pick<Field, 'type'>[]): ValueReader[];
  fields(fields: readonly Field[]): ValueReader;
  variants(variants: readonly Variant[]): ValueReader;
}

export const NULL: ValueReader = () => 'null';

/** Prints values with a text before each value, and a text at the end. */
function inTexts(before: readonly string[], readers: readonly ValueReader[], end: string): ValueReader {
  const [first, ...others] = readers.map((read, at) => ({ before: before[at] ?? ',', read }));
  if (first === undefined) return () => end;
  return (cursor) => {
    let text = first.before + first.read(cursor);
    for (const { before, read } of others) text += before + read(cursor);
    return text + end;
  };
}

export function objectReader(names: readonly string[], readers: readonly ValueReader[]): ValueReader {
  if (readers.length === 0) return () => '{}';
  const keys = names.map((name, at) => `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  return inTexts(keys, readers, '}');
}

/** Reads a list. `before` and `after` are printed around it. */
export function listReader(readers: readonly ValueReader[], before = '', after = ''): ValueReader {
  if (readers.length === 0) return () => `${before}[]${after}`;
  return inTexts([`${before}[`], readers, `]${after}`);
}

/** A list whose length comes first. */
export const sequenceReader =
  (read: ValueReader): ValueReader =>
  (cursor) =>
    repeat(cursor, read, cursor.length());

/** A list of `count` values. */
export const arrayReader =
  (read: ValueReader, count: number): ValueReader =>
  (cursor) =>
    repeat(cursor, read, count);

function repeat(cursor: Cursor, read: ValueReader, count: number): string {
  if (count === 0) return '[]';
  const from = cursor.at;
  let text = `[${read(cursor)}`;
  if (cursor.at === from) cursor.countEmpty(count);
  for (let remaining = count - 1; remaining > 0; remaining -= 1) text += `,${read(cursor)}`;
  return `${text}]`;
}
