import { stripVTControlCharacters } from 'node:util';

export { age, bytes, duration, number, plural } from '../../infra/words.ts';

/** Columns side by side, as wide as their widest cell; those named in `right` end flush, as numbers do. */
export function alignedTable(rows: readonly (readonly string[])[], right: readonly number[] = []): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const gap = ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell)));
          return right.includes(column) ? gap + cell : cell + gap;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Characters that are seen: a colour takes no room. */
const widthOf = (text: string) => stripVTControlCharacters(text).length;
