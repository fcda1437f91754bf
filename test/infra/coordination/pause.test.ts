import { expect, test } from 'vitest';
import { pause } from '../../../infra/coordination/pause.ts';

test('ends with the signal, without an error', async () => {
  const end = new AbortController();
  const paused = pause(60_000, end.signal);
  end.abort(new Error('over'));
  await expect(paused).resolves.toBeUndefined();
  await expect(pause(60_000, end.signal)).resolves.toBeUndefined();
});
