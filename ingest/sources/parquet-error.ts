/** Error code of a Parquet file that cannot be read. */
export const PARQUET_BROKEN = 'PARQUET_BROKEN';
