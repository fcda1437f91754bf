import { Readable } from 'node:stream';
import type { z } from 'zod';
import { ProductError } from '../../../infra/errors.ts';
import { firstFault } from '../../../infra/shape-error.ts';
import type { Pipeline } from '../compose/compose.ts';
import type { CallContext } from './operation.ts';
import {
  type InputOf,
  type OperationName,
  operations,
  type ProgressOf,
  type ResultOf,
} from './operations.ts';

/** Calls operations in this process or in a server. */
export interface OperationClient {
  /** The data directory or store, for display. */
  readonly location: string;
  call<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    context?: Partial<CallContext<ProgressOf<Name>>>,
  ): Promise<ResultOf<Name>>;
  close(): Promise<void>;
}

/** Runs operations in this process, on a pipeline that it owns. */
export class LocalClient implements OperationClient {
  readonly location: string;
  readonly #pipeline: Pipeline;

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
    this.location = pipeline.runtime.location;
  }

  async call<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    context: Partial<CallContext<ProgressOf<Name>>> = {},
  ): Promise<ResultOf<Name>> {
    const { body = Readable.from([]), files, onProgress = () => undefined, signal = NEVER } = context;
    const { input: schema, run } = operations[name];
    const read = schema.safeParse(input);
    if (!read.success) throw wrongInput(read.error);
    return run(this.#pipeline, read.data as never, {
      body,
      files,
      onProgress: onProgress as never,
      signal,
    }) as Promise<ResultOf<Name>>;
  }

  close(): Promise<void> {
    return this.#pipeline.close();
  }
}

const NEVER = new AbortController().signal;

/** For an item of a list the message alone is clear, without its position in the input. */
function wrongInput(error: z.ZodError): ProductError {
  const [issue] = error.issues;
  const isInList = typeof issue?.path.at(-1) === 'number';
  return new ProductError('usage', isInList ? issue.message : firstFault(error));
}
