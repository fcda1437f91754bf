import { expect, test } from 'vitest';
import { LocalClient } from '../../../serve/operations/client.ts';

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
