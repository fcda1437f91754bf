import { reasonOf } from '../../infra/errors.ts';

/** Describes an error thrown while reading a message. Reading has no side effects, so the message is the cause. */
export const describeReadError = (error: unknown): string =>
  error instanceof RangeError && /call stack/.test(error.message)
    ? 'nested too deeply'
    : `cannot be read: ${reasonOf(error)}`;
