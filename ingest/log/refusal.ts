import { reasonOf } from '../../infra/errors.ts';

/** Why a message is refused whose reading threw: reading does nothing else, so that the message is the cause. */
export const describeReadError = (error: unknown): string =>
  error instanceof RangeError && /call stack/.test(error.message)
    ? 'nested too deeply'
    : `cannot be read: ${reasonOf(error)}`;
