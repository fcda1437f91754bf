import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, expect, it } from 'vitest';
import { type BackupManifest, writeBackup } from '../../../../infra/embedded/backup.ts';
import { readRestored, restoreBackup } from '../../../../infra/embedded/restore.ts';
import { sql } from '../../../../infra/sql.ts';
import { blocks } from '../../../../ingest/raw/tables.ts';
import { handleUsersRequest } from '../../../../serve/accounts/operator.ts';
import { LocalClient } from '../../../../serve/application/operations/client.ts';
import { SocketClient } from '../../../../serve/application/operations/socket-client.ts';
import { madeBlock, madeExtrinsic } from '../../../ingest/made.ts';
import { contentOf, differences } from '../../../support/content.ts';
import { openPipelineAt, openTestPipeline } from '../../../support/pipeline.ts';
import { rooted } from '../../../support/rooted.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { linesOf, run, serve } from './program.ts';
import { runHere } from './run-here.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const env = { DATA_DIR: join(place.path, 'data'), STOP_SECONDS_MAX: '10' };
const BACKUP = join(place.path, 'backup');

const lineOf = (number: number) => {
  const now = String(Date.parse('2024-03-01T12:00:00Z') + number * 6000);
  const made = madeBlock(number, [], { extrinsics: [madeExtrinsic('timestamp.set', { args: { now } })] });
  const block = rooted(made, 'polkadot');
  return `${JSON.stringify(block)}\n`;
};

/** Loads block after block until told to stop; returns those that were acknowledged. */
function load(client: SocketClient) {
  const acknowledged: number[] = [];
  let isStopped = false;
  const loading = (async () => {
    for (let number = 1; !isStopped; number++) {
      const body = Readable.from([Buffer.from(lineOf(number))]);
      await client.call('ingest', { name: 'load', chain: 'polkadot' }, { body });
      acknowledged.push(number);
    }
  })();
  const stop = async () => {
    isStopped = true;
    await loading;
  };
  return { acknowledged, stop };
}

it('restores exactly what was accepted until a backup under load', { timeout: 240_000 }, async () => {
  const server = await serve([], env);
  const client = (await SocketClient.connect(env.DATA_DIR)) as SocketClient;
  await client.call('users', {
    action: 'create',
    username: 'alice',
    email: '',
    is_operator: false,
    password: null,
  });
  const { acknowledged, stop } = load(client);
  while (acknowledged.length < 3) await new Promise((done) => setTimeout(done, 10));
  const before = acknowledged.length;
  const { code, stdout, stderr } = await run(['backup', BACKUP, '--json'], { env });
  expect(code, stderr).toBe(0);
  const manifest = JSON.parse(stdout) as BackupManifest;
  await stop();
  await server.end('SIGKILL');
  rmSync(env.DATA_DIR, { recursive: true });

  const restored = await run(['restore', BACKUP], { env });
  expect(restored.stdout).toContain(`It contains the data accepted until ${manifest.taken_at}`);
  expect(restored.code, restored.stderr).toBe(0);
  expect(existsSync(join(env.DATA_DIR, 'restoring.part'))).toBe(false);
  const status = await runHere(['status'], env);
  expect(status.stdout).toContain(`with the data accepted until ${manifest.taken_at}`);

  const pipeline = await openPipelineAt(env.DATA_DIR);
  await pipeline.waitUntilComputed();
  expect(pipeline.runtime.damage.list()).toEqual([]);
  const numbers = await pipeline.runtime.store.rows<{ number: number }>(
    sql`SELECT DISTINCT number FROM ${blocks} WHERE chain = 'polkadot' ORDER BY number`,
  );
  const content = await contentOf(pipeline);
  const { users } = await handleUsersRequest(pipeline.accounts(), { action: 'list' });
  expect(users.map(({ username }) => username)).toEqual(['alice']);
  await pipeline.close();
  const count = numbers.length;
  // Whatever was acknowledged before the backup is in it, and what came later is in it whole up to some block.
  expect(count).toBeGreaterThanOrEqual(before);
  expect(numbers.map(({ number }) => Number(number))).toEqual(Array.from({ length: count }, (_, i) => i + 1));

  await using clean = await openTestPipeline();
  const lines = Array.from({ length: count }, (_, i) => lineOf(i + 1));
  await clean.pipeline.ingest(Readable.from([Buffer.from(lines.join(''))]), {
    name: 'clean',
    chain: 'polkadot',
  });
  await clean.pipeline.waitUntilComputed();
  expect(differences(await contentOf(clean.pipeline), content)).toEqual([]);

  const archive = join(place.path, 'backup.tar.gz');
  const local = new LocalClient(clean.pipeline);
  const both = await Promise.allSettled([
    local.call('backup', { path: archive }),
    local.call('backup', { path: join(place.path, 'second') }),
  ]);
  expect(both).toEqual([
    expect.objectContaining({ status: 'fulfilled' }),
    { status: 'rejected', reason: expect.objectContaining({ message: 'another backup is being written' }) },
  ]);
  expect(statSync(archive).mode & 0o077).toBe(0);
  const unpacked = join(place.path, 'unpacked');
  const { taken_at } = await restoreBackup(archive, unpacked, () => undefined);
  expect(readRestored(unpacked)?.taken_at).toBe(taken_at);
  expect(readdirSync(join(unpacked, 'store')).sort()).toEqual(['metadata', 'store']);
  expect(readdirSync(place.path).filter((name) => /part|packing/.test(name))).toEqual([]);
});

it('keeps a backup from others, and lists every file with its checksum', () => {
  const sums = linesOf(readFileSync(join(BACKUP, 'files.sha256'), 'utf8'));
  const manifest = JSON.parse(readFileSync(join(BACKUP, 'manifest.json'), 'utf8')) as BackupManifest;
  expect(sums).toHaveLength(manifest.files);
  expect(sums.every((line) => /^[0-9a-f]{64} {2}data\//.test(line))).toBe(true);
  for (const name of ['manifest.json', 'files.sha256']) {
    expect(statSync(join(BACKUP, name)).mode & 0o077, name).toBe(0);
  }
  expect(statSync(BACKUP).mode & 0o077).toBe(0);
});

it('restores nothing of a backup that is damaged, newer or unfinished, or over data', async () => {
  const copy = (name: string, change: (directory: string) => void) => {
    const directory = join(place.path, name);
    cpSync(BACKUP, directory, { recursive: true });
    change(directory);
    return directory;
  };
  const key = (directory: string) => join(directory, 'data', 'secrets.key');
  const changeManifest = (more: object) => (directory: string) => {
    const file = join(directory, 'manifest.json');
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...more }));
  };
  const faults: [backup: string, says: RegExp][] = [
    [
      copy('flipped', (one) => appendFileSync(key(one), 'x')),
      /damaged: data\/secrets\.key does not match its checksum/,
    ],
    [copy('lacking', (one) => rmSync(key(one))), /damaged: data\/secrets\.key/],
    [copy('listed', (one) => appendFileSync(join(one, 'files.sha256'), ' ')), /damaged: files\.sha256/],
    [
      copy('newer', changeManifest({ schema_version: 999, product_version: '9.0.0' })),
      /a newer version wrote the backup \(9\.0\.0, schema 999/,
    ],
    [copy('unfinished', (one) => rmSync(join(one, 'manifest.json'))), /is not a complete backup/],
  ];
  const nothing = join(place.path, 'nothing');
  for (const [backup, says] of faults) {
    await expect(restoreBackup(backup, nothing, () => undefined)).rejects.toThrow(says);
    expect(existsSync(nothing) ? readdirSync(nothing) : []).toEqual([]);
  }
  await expect(restoreBackup(BACKUP, env.DATA_DIR, () => undefined)).rejects.toThrow(
    /holds \w+.*: a backup is restored into an empty directory only/,
  );
  const again = await runHere(['backup', BACKUP], env);
  expect(again.stderr).toMatch(/a backup needs an empty directory/);
  expect(again.code).toBe(2);
  const nowhere = await runHere(['backup', '/dev/null/backup'], env);
  expect(nowhere.stderr).toMatch(
    /\/dev\/null\/backup cannot be written: ENOTDIR.*; free space, or choose another place/,
  );
  expect([nowhere.code, nowhere.stderr.includes('DATA_DIR')]).toEqual([1, false]);
});

it('names its own place where there is no room, and leaves nothing there', async () => {
  const [source, full] = [join(place.path, 'source'), join(place.path, 'full')];
  writeFileSync(source, 'rows');
  const files = [{ from: source, to: 'x'.repeat(300), bytes: 4 }];
  const snapshot = { takenAt: new Date(), heldMs: 0, files, release: () => undefined };
  const facts = {
    product_version: '1',
    schema_version: 1,
    engine_version: '1',
    secrets_key: 'none',
    damage: 0,
  } as const;
  const context = { onProgress: () => undefined, isForced: true, signal: new AbortController().signal };
  await expect(writeBackup(full, snapshot, facts, context)).rejects.toMatchObject({
    code: 'output_unwritable',
    message: expect.stringContaining(`${full} cannot be written: ENAMETOOLONG`),
  });
  expect(readdirSync(full)).toEqual([]);
});
