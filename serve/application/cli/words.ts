import { stripVTControlCharacters } from 'node:util';
import { Help } from 'commander';

export {
  formatAge,
  formatBytes,
  formatDuration,
  formatNumber,
  plural,
} from '../../../infra/format.ts';

const CELL_CHARACTERS_MAX = 80;

/** A text as a cell of a table: one that is longer says so. */
export const cut = (text: string): string =>
  text.length > CELL_CHARACTERS_MAX ? `${text.slice(0, CELL_CHARACTERS_MAX - 1)}…` : text;

/** On terminals of any width. */
const wrapping = Object.assign(new Help(), { minWidthToWrap: 0 });

/** Paragraphs of a help text in lines of so many characters; examples, which are indented, stay as they are. */
export const wrapped = (text: string, characters: number): string =>
  text.replace(/^\S.*(?:\n\S.*)*$/gm, (paragraph) =>
    paragraph.split('\n').every((line) => line.length <= characters)
      ? paragraph
      : wrapping.boxWrap(paragraph.replaceAll('\n', ' '), characters),
  );

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
