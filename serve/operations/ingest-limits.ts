// The command knows them too, without what loads blocks.

/** Kinds of reasons in one report; further ones are counted. */
export const REASONS_MAX = 100;

/** Bytes of files that come in one body: it is held in memory. */
export const FILES_BYTES_MAX = 32 * 2 ** 20;
