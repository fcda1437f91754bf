/** The stream of `dirty_days` for changes of blocks without a time, which are of no day: they stand at the epoch. */
export const UNTIMED = 'untimed';
