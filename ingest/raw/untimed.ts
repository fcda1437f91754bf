/** The stream of `dirty_days` for changes of blocks without a timestamp. Their day is the epoch. */
export const UNTIMED = 'untimed';
