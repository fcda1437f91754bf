import { ignore } from '../../../infra/ignore.ts';
import type { OperationClient } from './client.ts';

/** Pauses computation while the work runs. */
export async function pausingCompute<Result>(
  client: OperationClient,
  work: () => Promise<Result>,
): Promise<Result> {
  const hangUp = new AbortController();
  const paused = Promise.withResolvers<void>();
  const call = client.call('pauseCompute', {}, { onProgress: () => paused.resolve(), signal: hangUp.signal });
  call.catch((error) => paused.reject(error));
  await paused.promise;
  try {
    return await work();
  } finally {
    hangUp.abort();
    // It was ended on purpose, and only holds others back.
    await call.catch(ignore('operations.pausing'));
  }
}
