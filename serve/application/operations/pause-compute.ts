import { ignore } from '../../../infra/ignore.ts';
import type { OperationClient } from './client.ts';

/** Runs `work` while the computation of metrics is paused. */
export async function withComputePaused<Result>(
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
    // The call fails because it was aborted here.
    await call.catch(ignore('operations.pausing'));
  }
}
