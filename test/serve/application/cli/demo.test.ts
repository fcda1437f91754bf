import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { folderOf } from '../../../support/fixtures.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { run, serve } from './program.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
// What a test asks takes the more of the store's time the busier the machine is.
const env = { DATA_DIR: join(place.path, 'demo'), PORT: '0', ANONYMOUS_STORE_SECONDS: '0' };

/** A machine that has other work keeps the event loop of a start for longer: the server then says when to ask again. */
async function askedAgainWhileBusy(url: string): Promise<Response> {
  for (let left = 20; ; left--) {
    const page = await fetch(url);
    const seconds = page.headers.get('retry-after');
    if (page.status !== 503 || seconds === null || left === 0) return page;
    await page.body?.cancel();
    await pause(Number(seconds) * 1000);
  }
}

it('serves at once while demo data are made, and knows them after a kill, also without the option', async () => {
  for (const args of [['--demo'], []]) {
    const server = await serve(args, env);
    const page = await askedAgainWhileBusy(server.url);
    expect(page.status).toBe(200);
    expect(page.headers.get('x-demo-data')).toBe('true');
    expect(await page.text()).toContain('Demo data: made up, not measured.');
    await server.end('SIGKILL');
  }
  expect((await run(['status'], { env })).stdout).toContain('made up, not measured');
  const archive = fileURLToPath(new URL('asset-hub-westend.ndjson.gz', folderOf('blocks')));
  const sources = join(place.path, 'sources.json');
  await writeFile(
    sources,
    JSON.stringify({ chains: [{ chain: 'asset-hub-westend', sources: [{ archive }] }] }),
  );
  for (const args of [
    ['ingest', archive],
    ...['backfill', 'follow'].map((name) => [name, '--sources', sources]),
  ]) {
    const refused = await run(args, { env });
    expect(refused.stderr, args[0]).toContain('cannot be mixed with real data: set DATA_DIR to another');
    expect(refused.code, args[0]).toBe(2);
  }
  const loading = await serve(['--demo'], env);
  expect(await loading.end('SIGTERM')).toEqual({ code: 0, signal: null });
});

it('adds no demo data to what is followed, and not beside the sample alone', async () => {
  const followed = { ...env, DATA_DIR: join(place.path, 'followed'), FOLLOW: 'polkadot=http://127.0.0.1:9' };
  const refused = await run(['start', '--demo'], { env: followed });
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--demo and FOLLOW exclude each other'),
  });
  expect((await run(['start', '--demo', '--sample'], { env })).code).toBe(2);
});
