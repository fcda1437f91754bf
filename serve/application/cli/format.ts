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

/** Shortens a text to the width of a table cell. */
export const truncate = (text: string): string =>
  text.length > CELL_CHARACTERS_MAX ? `${text.slice(0, CELL_CHARACTERS_MAX - 1)}…` : text;

/** Wraps at any width. */
const wrapping = Object.assign(new Help(), { minWidthToWrap: 0 });

/** Wraps the paragraphs of a help text. Indented examples stay unchanged. */
export const wrapText = (text: string, characters: number): string =>
  text.replace(/^\S.*(?:\n\S.*)*$/gm, (paragraph) =>
    paragraph.split('\n').every((line) => line.length <= characters)
      ? paragraph
      : wrapping.boxWrap(paragraph.replaceAll('\n', ' '), characters),
  );

/** Pads each column to its widest cell. The columns in `right` are aligned right, as numbers are. */
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

/** Visible characters, without colour codes. */
const widthOf = (text: string) => stripVTControlCharacters(text).length;
