import { expect, test, vi } from 'vitest';
import { aUser, openWorld, signedIn } from '../accounts/world.ts';

test('a failure is a page that says what to do, also where it cannot be told who visits it', async () => {
  await using world = await openWorld({ LOG_LEVEL: 'silent' });
  const browser = await signedIn(world, await aUser(world));
  using rows = vi.spyOn(world.pipeline.runtime.store, 'rows');
  rows.mockRejectedValue(new Error('SELECT 1 failed'));
  // What is known of the session is read again.
  world.advance(10 * 60_000);
  for (const path of ['/profile/keys', '/projects', '/charts/daily-fees']) {
    const { statusCode, headers, body } = await browser.get(path);
    expect([statusCode, headers['content-type']], path).toEqual([500, 'text/html; charset=utf-8']);
    expect(body).toMatch(/Something went wrong[\s\S]+Go back and try again[\s\S]+<code>req-\w+<\/code>/);
    expect(body).not.toContain('SELECT');
  }
});
