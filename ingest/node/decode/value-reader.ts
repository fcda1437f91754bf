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

/** TypeReaders by type. */
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

export function objectReader(names: readonly string[], readers: readonly ValueReader[]): ValueReader {
  const parts = readers.map((read, at) => ({
    key: `${at === 0 ? '' : ','}${JSON.stringify(names[at])}:`,
    read,
  }));
  return (cursor) => {
    let text = '{';
    for (const { key, read } of parts) text += key + read(cursor);
    return `${text}}`;
  };
}

export function listReader(readers: readonly ValueReader[]): ValueReader {
  const parts = readers.map((read, at) => ({ comma: at === 0 ? '' : ',', read }));
  return (cursor) => {
    let text = '[';
    for (const { comma, read } of parts) text += comma + read(cursor);
    return `${text}]`;
  };
}

/** A list of as many values as its prefix says. */
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
  if (cursor.at === from) cursor.takeEmpty(count);
  for (let left = count - 1; left > 0; left -= 1) text += `,${read(cursor)}`;
  return `${text}]`;
}
