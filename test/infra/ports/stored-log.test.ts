import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DamagedFiles } from '../../../infra/embedded/damage.ts';
import { EmbeddedLog } from '../../../infra/embedded/log.ts';
import type { Damage, LogRecord } from '../../../infra/ports.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';
import { CONSUMED_TOPICS, consumeContract } from './consume.contract.ts';
import { until } from './opened.ts';

function openLog(dataDirectory: string, stored: readonly string[] = ['topic']): EmbeddedLog {
  return new EmbeddedLog({ dataDirectory, fsync: true, retryMs: 5, stored });
}

/** The directory as a kill of its process at this moment leaves it. */
function killed(directory: string): string {
  const copy = `${directory}-killed`;
  cpSync(directory, copy, { recursive: true });
  return copy;
}

consumeContract('embedded', async () => {
  const place = temporaryDirectory();
  const port = openLog(place.path, CONSUMED_TOPICS);
  return {
    port,
    reopen: async () => openLog(killed(place.path), CONSUMED_TOPICS),
    close: async () => place[Symbol.dispose](),
  };
});

describe('embedded log: the database', () => {
  let place: TemporaryDirectory;
  beforeEach(() => {
    place = temporaryDirectory();
  });
  afterEach(() => place[Symbol.dispose]());

  const message = (text: string) => ({ key: 'k', value: Buffer.from(text) });
  const textsOf = (seen: readonly LogRecord[]) => seen.map(({ value }) => value.toString());

  async function open(directory: string, isDurable = true) {
    const seen: LogRecord[] = [];
    const log = openLog(directory);
    await log.consume('topic', 'group', async (batch) => {
      seen.push(...batch);
      return { durable: isDurable ? Promise.resolve() : new Promise<void>(() => {}) };
    });
    const publish = (...texts: readonly string[]) => log.publish('topic', texts.map(message));
    return { log, seen, publish };
  }
  function faultsOf(directory: string): readonly Damage[] {
    const damage = new DamagedFiles(directory);
    damage.checkLog();
    return damage.list();
  }
  const bytesIn = (directory: string) =>
    readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);

  test('what is consumed takes no room', async () => {
    const { log, seen, publish } = await open(place.path);
    for (let i = 0; i < 40; i++) await publish(...Array.from({ length: 100 }, () => 'x'.repeat(10_000)));
    await log.waitUntilConsumed('topic', 'group');
    expect(seen).toHaveLength(4000);
    expect(bytesIn(place.path)).toBeLessThan(12 * 2 ** 20);
    await log.close();
    expect(bytesIn(place.path)).toBeLessThan(64 * 2 ** 10);
  });

  test('offsets go on behind what was consumed before', async () => {
    const first = await open(place.path);
    await first.publish('a', 'b');
    await first.log.waitUntilConsumed('topic', 'group');
    await first.log.close();
    const again = await open(place.path);
    await again.publish('c');
    await until('it is delivered', () => again.seen.length === 1);
    expect(again.seen[0]?.offset).toBe((first.seen[1]?.offset as number) + 1);
    await again.log.close();
  });

  test('a transaction that a kill left incomplete is gone, and what was acknowledged is there', async () => {
    const { publish } = await open(place.path, false);
    await publish('first');
    const wal = 'log.sqlite-wal';
    const before = statSync(join(place.path, wal)).size;
    await publish('second');
    const whole = readFileSync(join(place.path, wal));
    for (let length = before; length < whole.length; length += 1000) {
      const cut = temporaryDirectory();
      cpSync(place.path, cut.path, { recursive: true });
      writeFileSync(join(cut.path, wal), whole.subarray(0, length));
      const { log, seen } = await open(cut.path);
      await until('the first is delivered', () => seen.length > 0);
      await log.waitUntilConsumed('topic', 'group');
      expect(textsOf(seen)).toEqual(['first']);
      expect(faultsOf(cut.path)).toEqual([]);
      await log.close();
      cut[Symbol.dispose]();
    }
  });

  test('a copy holds what is not consumed, and goes on at the same offset', async () => {
    const { log, seen, publish } = await open(place.path, false);
    await publish('a', 'b');
    const copy = temporaryDirectory();
    log.copyTo(join(copy.path, 'log.sqlite'));
    const copied = await open(copy.path, false);
    await copied.publish('c');
    await until('all are delivered', () => copied.seen.length === 3);
    expect(textsOf(copied.seen)).toEqual(['a', 'b', 'c']);
    await publish('d');
    await until('it is delivered', () => seen.length === 3);
    expect(copied.seen.map(({ offset }) => offset)).toEqual(seen.map(({ offset }) => offset));
    copy[Symbol.dispose]();
  });

  test.each([
    ['its beginning', (bytes: Buffer) => bytes.fill(0, 0, 100)],
    ['a page', (bytes: Buffer) => bytes.fill(0xff, 2 * 4096, 3 * 4096)],
    ['its end', (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1)],
  ])('that lost %s is set aside and told, and the log goes on', async (_, harm) => {
    const file = join(place.path, 'log.sqlite');
    const source = temporaryDirectory();
    const before = await open(source.path, false);
    await before.publish(...Array.from({ length: 10 }, () => 'x'.repeat(5000)));
    before.log.copyTo(file);
    const harmed = harm(readFileSync(file));
    writeFileSync(file, harmed);
    const lost = expect.stringMatching(/alerts .* not processed yet/);
    expect(faultsOf(place.path)).toMatchObject([{ part: 'log', file, lost }]);

    const { log, seen, publish } = await open(place.path);
    await publish('next');
    await log.waitUntilConsumed('topic', 'group');
    expect(textsOf(seen)).toEqual(['next']);
    const [found, ...others] = faultsOf(place.path);
    expect(others).toEqual([]);
    expect(found).toMatchObject({ part: 'log', lost });
    expect(readFileSync(found?.file as string)).toEqual(harmed);
    rmSync(found?.file as string);
    expect(faultsOf(place.path)).toEqual([]);
    await log.close();
    source[Symbol.dispose]();
  });

  test('the publisher gets the error of a full disk, nothing of it is kept, and later publishers succeed', () => {
    const urlOf = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
    const program = `
      import { EmbeddedLog } from ${urlOf('../../../infra/embedded/log.ts')};
      const log = new EmbeddedLog({ dataDirectory: ${JSON.stringify(place.path)}, fsync: true, stored: ['topic'] });
      const seen = [];
      await log.consume('topic', 'group', async (batch) => {
        seen.push(...batch.map(({ value }) => value.length));
        return { durable: Promise.resolve() };
      });
      const publish = (bytes) => log.publish('topic', [{ key: 'k', value: Buffer.alloc(bytes) }])
        .then(() => 'stored', ({ code, message }) => code + ': ' + message);
      console.log(await publish(1));
      console.log(await publish(8 * 2 ** 20));
      console.log(await publish(2));
      await log.waitUntilConsumed('topic', 'group');
      console.log(seen.join());
      await log.close();`;
    // In blocks of 512 bytes: no file can grow larger.
    const shell = 'ulimit -f 4096; exec "$@"';
    const node = [process.execPath, '--input-type=module', '-e', program];
    const { stdout, stderr } = spawnSync('sh', ['-c', shell, 'sh', ...node], { encoding: 'utf8' });
    expect(stdout.split('\n'), stderr).toEqual([
      'stored',
      'store_unwritable: the disk is full or not writable; no data is accepted until this is fixed',
      'stored',
      '1,2',
      '',
    ]);
  });
});
