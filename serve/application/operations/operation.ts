import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { OpenSource } from '../../../ingest/sources/publish.ts';
import type { Pipeline } from '../compose/compose.ts';

/** The streams and callbacks of a call. */
export interface CallContext<Progress> {
  /** Bytes that the operation reads, such as a file to ingest. */
  readonly body: Readable;
  /** Files of a caller in this process. Another process sends them in the body. */
  readonly files?: Iterable<OpenSource> | undefined;
  readonly onProgress: (step: Progress) => void;
  /** Aborted if the caller hangs up. */
  readonly signal: AbortSignal;
}

/**
 * An operation of an operator. It runs in the process that has opened the store: in the command itself, or in the
 * server that the command reaches over its socket. Input, progress and result are JSON; a result may also be a stream.
 */
export interface Operation<Input extends z.ZodType, Progress, Result> {
  readonly input: Input;
  /** Whether the result is a stream of bytes; such an operation reports no progress. */
  readonly isStream?: true;
  run(pipeline: Pipeline, input: z.output<Input>, context: CallContext<Progress>): Promise<Result>;
}

export const operation =
  <Progress = never>() =>
  <Input extends z.ZodType, Result>(
    definition: Operation<Input, Progress, Result>,
  ): Operation<Input, Progress, Result> =>
    definition;
