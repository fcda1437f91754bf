import type { AsyncBuffer, FileMetaData } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';

/** Rows are decoded in parts of about so many bytes: a row is a whole block and a file may hold a year of them. */
const PART_BYTES = 32 * 2 ** 20;
/** Values of a part: equal ones take no bytes in the file, and are objects once they are decoded. */
const PART_VALUES = 1_000_000;
/** Values that are decoded at once, whatever the part: pages are decoded whole, and lists with all of their column. */
const DECODED_VALUES_MAX = 2 ** 24;
/** A page's header holds its least and greatest value, and is mostly far shorter. */
const HEADER_BYTES = 1024;

type RowGroup = FileMetaData['row_groups'][number];
type ColumnChunk = RowGroup['columns'][number];

/** Rows that are decoded together. */
export async function* rowParts(
  file: AsyncBuffer,
  { row_groups }: FileMetaData,
): AsyncGenerator<{ from: number; until: number }> {
  let first = 0;
  for (const group of row_groups) {
    const rows = Number(group.num_rows);
    const values = await valuesOf(file, group, rows);
    const parts = Math.max(
      1,
      Math.ceil(Number(group.total_byte_size) / PART_BYTES),
      Math.ceil(values / PART_VALUES),
    );
    const step = Math.max(1, Math.ceil(rows / parts));
    for (let from = first; from < first + rows; from += step) {
      yield { from, until: Math.min(from + step, first + rows) };
    }
    first += rows;
  }
}

/** How many values a group holds, by the headers of its pages: the file's own count is not what is decoded. */
async function valuesOf(file: AsyncBuffer, { columns }: RowGroup, rows: number): Promise<number> {
  let [values, decoded] = [0, 0];
  for (const column of columns) {
    const { total, longest } = await pagesOf(file, column);
    if (total < rows) throw new Error(`${rows} rows with ${total} values of a column`);
    values += total;
    const isFlat = column.meta_data?.path_in_schema.length === 1 && total === rows;
    decoded += isFlat ? longest : total;
    if (decoded > DECODED_VALUES_MAX) {
      throw new Error(
        `pages of more than ${DECODED_VALUES_MAX} values: write it with smaller pages or row groups`,
      );
    }
  }
  return values;
}

async function pagesOf(
  file: AsyncBuffer,
  { meta_data }: ColumnChunk,
): Promise<{ total: number; longest: number }> {
  if (!meta_data) throw new Error('a column without its place');
  const { dictionary_page_offset, data_page_offset, total_compressed_size } = meta_data;
  const from = Number(dictionary_page_offset || data_page_offset);
  const until = from + Number(total_compressed_size);
  let [total, longest] = [0, 0];
  // A single byte at the end is no page to the decoder either.
  for (let at = from; at < until - 1; ) {
    const { header, length } = await headerAt(file, at, until);
    const { data_page_header, data_page_header_v2, dictionary_page_header } = header;
    const values = (data_page_header ?? data_page_header_v2)?.num_values ?? 0;
    total += values;
    longest = Math.max(longest, values, dictionary_page_header?.num_values ?? 0);
    if (!(header.compressed_page_size >= 0)) throw new Error('a page of a negative length');
    at += length + header.compressed_page_size;
  }
  return { total, longest };
}

async function headerAt(file: AsyncBuffer, at: number, until: number) {
  for (let size = HEADER_BYTES; ; size *= 16) {
    const reader = { view: new DataView(await file.slice(at, Math.min(at + size, until))), offset: 0 };
    try {
      const header = parquetHeader(reader);
      if (reader.offset <= reader.view.byteLength) return { header, length: reader.offset };
    } catch (error) {
      if (at + size >= until) throw error;
    }
    if (at + size >= until) throw new Error('a page that breaks off');
  }
}
