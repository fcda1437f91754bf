import { once } from 'node:events';
import { expect, test } from 'vitest';
import { LocalClient } from '../../../../serve/application/operations/client.ts';

test('a wrong input is reported as wrong usage, by the name of its field', async () => {
  const client = new LocalClient({ runtime: { location: 'nowhere' } } as never);
  await expect(client.call('deadLetters', { action: 'show', ids: ['x'] })).rejects.toMatchObject({
    code: 'usage',
    message: 'an id is 4 to 32 hexadecimal digits',
  });
  await expect(client.call('missingHeights', { chain: 'polkadot', from: -1, to: 2 })).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/^from: /),
  });
});

test('a caller who hangs up ends the wait for what no process loads', async () => {
  const hungUp = new AbortController();
  const pipeline = {
    config: { PROFILE: 'distributed' },
    runtime: { location: 'nowhere' },
    ingestAll: async () => ({ lines: 1, blocks: 1, snapshots: 0, refused_lines: 0 }),
    waitUntilLoaded: async (signal = new AbortController().signal) => {
      setImmediate(() => hungUp.abort(new Error('hung up')));
      await once(signal, 'abort');
      signal.throwIfAborted();
    },
  };
  const client = new LocalClient(pipeline as never);
  const ingested = client.call('ingest', { name: 'polkadot.ndjson' }, { signal: hungUp.signal });
  await expect(ingested).rejects.toThrow('hung up');
});
