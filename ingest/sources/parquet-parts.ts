import type { AsyncBuffer, FileMetaData } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';

/** Approximate size of a part. A row is a whole block, and a file may hold the blocks of a year. */
const PART_BYTES = 32 * 2 ** 20;
/** Values of a part. Equal values take hardly any bytes in a file, but become objects when they are decoded. */
const PART_VALUES = 1_000_000;
/** Most values that the library may decode at once. Even for a small part it decodes whole pages and columns of lists. */
const DECODED_VALUES_MAX = 2 ** 24;
/** Longer than most page headers. They hold the minimum and maximum of the page, which may be long. */
const HEADER_BYTES = 1024;

type RowGroup = FileMetaData['row_groups'][number];
type ColumnChunk = RowGroup['columns'][number];

/** Ranges of rows that are decoded together. */
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

/** Counts the values of a row group by its page headers: the library decodes by them, not by the footer's count. */
async function valuesOf(file: AsyncBuffer, { columns }: RowGroup, rows: number): Promise<number> {
  let [values, decoded] = [0, 0];
  for (const column of columns) {
    const { total, longest } = await pagesOf(file, column);
    if (total < rows) throw new Error(`a column has ${total} values for ${rows} rows`);
    values += total;
    const isFlat = column.meta_data?.path_in_schema.length === 1 && total === rows;
    decoded += isFlat ? longest : total;
    if (decoded > DECODED_VALUES_MAX) {
      throw new Error(
        `its pages have more than ${DECODED_VALUES_MAX} values: write it with smaller pages or row groups`,
      );
    }
  }
  return values;
}

async function pagesOf(
  file: AsyncBuffer,
  { meta_data }: ColumnChunk,
): Promise<{ total: number; longest: number }> {
  if (!meta_data) throw new Error('a column has no offset');
  const { dictionary_page_offset, data_page_offset, total_compressed_size } = meta_data;
  const from = Number(dictionary_page_offset || data_page_offset);
  const until = from + Number(total_compressed_size);
  let [total, longest] = [0, 0];
  // The decoder ignores a single byte at the end too.
  for (let at = from; at < until - 1; ) {
    const { header, length } = await headerAt(file, at, until);
    const { data_page_header, data_page_header_v2, dictionary_page_header } = header;
    const values = (data_page_header ?? data_page_header_v2)?.num_values ?? 0;
    total += values;
    longest = Math.max(longest, values, dictionary_page_header?.num_values ?? 0);
    if (!(header.compressed_page_size >= 0)) throw new Error('a page has a negative length');
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
    if (at + size >= until) throw new Error('a page is truncated');
  }
}
