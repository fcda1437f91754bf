import { describe, expect, test } from 'vitest';
import { retry, retryUntilReady } from '../../../infra/coordination/retry.ts';
import { ProductError } from '../../../infra/errors.ts';
import { gate } from '../ports/opened.ts';

const SOON = { waitMs: 1, waitMsMax: 4 };
const noRefusal = () => null;

/** Fails a number of times and then answers. */
function failing(times: number, error: unknown = new Error('away')) {
  let calls = 0;
  return async () => {
    if (++calls <= times) throw error;
    return calls;
  };
}

describe('retry', () => {
  test('repeats until the work succeeds, also after a TypeError', async () => {
    expect(await retry(failing(3, new TypeError('a fault')), SOON)).toBe(4);
    expect(await retry(failing(3, 'no error at all'), SOON)).toBe(4);
  });

  test('throws the error itself when another attempt cannot succeed', async () => {
    const error = new ProductError('service_refused', 'no');
    await expect(retry(failing(3, error), { ...SOON, isFinal: () => true })).rejects.toBe(error);
  });

  test('ends with its signal, at once while it waits', async () => {
    const stop = new AbortController();
    const weekMs = 7 * 86_400_000;
    const ended = retry(failing(1000), { waitMs: weekMs, waitMsMax: weekMs, signal: stop.signal });
    setTimeout(() => stop.abort(new Error('stopped')), 10);
    await expect(ended).rejects.toThrow('stopped');
  });

  test('returns the result of an attempt that ends after the signal', async () => {
    const stop = new AbortController();
    const hold = gate();
    const work = async () => {
      await hold.opened;
      return 'done';
    };
    const ended = retry(work, { ...SOON, signal: stop.signal });
    stop.abort();
    hold.open();
    expect(await ended).toBe('done');
  });
});

describe('retryUntilReady', () => {
  test('waits until the service answers', async () => {
    expect(await retryUntilReady('URL=x', 5, failing(1), noRefusal)).toBe(2);
  });

  test('names the setting and the time when there is no answer', async () => {
    const error = await retryUntilReady('URL=x', 0, failing(99), noRefusal).catch((error) => error);
    expect(error).toMatchObject({
      code: 'service_unreachable',
      message: 'URL=x: no answer within SERVICE_WAIT_SECONDS=0; start it or correct the setting',
      detail: 'away',
    });
  });

  test('throws a refusal at once', async () => {
    const refused = new ProductError('service_refused', 'wrong password');
    await expect(retryUntilReady('URL=x', 60, failing(99), () => refused)).rejects.toBe(refused);
  });
});
