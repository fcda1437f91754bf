import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage, type RequestOptions } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../../../serve/accounts/keys.ts';
import { canRun } from '../../../support/needed.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { aUser, openWorld, type World } from '../../accounts/world.ts';
import { FCGIWRAP, type GitFront, NGINX, startGitFront } from './git-front.ts';
import { type Spelling, spellings } from './git-spellings.ts';

const directory = temporaryDirectory();
const repository = join(directory.path, 'repositories', 'project.git');
const git = (...args: string[]) =>
  execFileSync('git', ['-C', repository, '-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args])
    .toString()
    .trim();
const request = (url: string, options: RequestOptions) =>
  new Promise<IncomingMessage>((resolve, reject) => get(url, options, resolve).once('error', reject));
const NOTHING = '0'.repeat(40);
const hasNginx = canRun(NGINX, FCGIWRAP);

let world: World;
let front: GitFront;
let commit: string;

beforeAll(async () => {
  if (!hasNginx) return;
  // Exact limits, so that one caller behind the proxy can be counted.
  world = await openWorld({ TRUST_PROXY: '1', ANONYMOUS_PER_MINUTE: '5' });
  const service = await world.app.listen({ host: '127.0.0.1', port: 0 });
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', repository]);
  commit = git('commit-tree', '-m', 'first', git('hash-object', '-t', 'tree', '-w', '/dev/null'));
  git('update-ref', 'refs/heads/main', commit);
  // Git itself lets everybody push, so that nothing but the answer of the service stands between.
  git('config', 'http.receivepack', 'true');
  front = await startGitFront(service, join(directory.path, 'repositories'), join(directory.path, 'front'));
});
afterAll(async () => {
  await front?.stop();
  await world?.close();
  directory[Symbol.dispose]();
});

async function authorizationWith(...scopes: string[]): Promise<string> {
  const user = await aUser(world);
  const made = await createKey(world.accounts, user, 'personal', { name: 'git', scopes, expires_ms: 0 });
  return `Authorization: Basic ${Buffer.from(`oauth2:${made.text}`).toString('base64')}`;
}

/** The body of a push that makes a branch. */
function pushOf(branch: string): Buffer {
  const line = `${NOTHING} ${commit} refs/heads/${branch}\0 report-status\n`;
  const pack = Buffer.concat([Buffer.from('PACK'), Buffer.from([0, 0, 0, 2, 0, 0, 0, 0])]);
  return Buffer.concat([
    Buffer.from(`${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`),
    pack,
    createHash('sha1').update(pack).digest(),
  ]);
}

/** Sends a push with the bytes of a spelling as they are, and returns the status. */
async function send(url: string, spelling: Spelling, branch: string, authorization: string): Promise<number> {
  const body = pushOf(branch);
  const head = [
    `${spelling.method} ${spelling.uri} HTTP/${spelling.version ?? '1.1'}`,
    'Host: git.example',
    authorization,
    'Content-Type: application/x-git-receive-pack-request',
    `Content-Length: ${body.length}`,
    ...(spelling.headers ?? []),
    'Connection: close',
  ];
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  // A proxy that refuses the head may close before it has read the body.
  socket.on('error', () => undefined);
  socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]));
  const answer = await buffer(socket).catch(() => Buffer.alloc(0));
  return Number(/^HTTP\/1\.[01] (\d{3})/.exec(answer.toString('latin1'))?.[1] ?? 0);
}

const branches = (prefix: string): string[] =>
  git('for-each-ref', '--format=%(refname:short)', `refs/heads/${prefix}-*`).split('\n').filter(Boolean);

describe.runIf(hasNginx)('pushes that look like fetches, through nginx to Git', () => {
  const all = spellings();
  const sendAll = async (url: string, prefix: string, authorization: string) => {
    for (const [i, spelling] of all.entries()) await send(url, spelling, `${prefix}-${i}`, authorization);
  };

  test('are at least 200 spellings, of which many reach Git as pushes where nothing authorizes them', async () => {
    expect(new Set(all.map((one) => JSON.stringify(one))).size).toBeGreaterThanOrEqual(200);
    await sendAll(front.openUrl, 'open', 'X-Other: 1');
    expect(branches('open').length).toBeGreaterThanOrEqual(50);
  });

  test('write nothing with a token that may only read, and never reach Git as a push', async () => {
    const before = front.received().length;
    await sendAll(front.url, 'read', await authorizationWith('read_repository'));
    const written = branches('read').map((name) => all[Number(name.split('-')[1])]?.uri);
    expect(written).toEqual([]);
    const pushes = front
      .received()
      .slice(before)
      .filter(({ path }) => /\/git-receive-pack$/i.test(path));
    expect(pushes).toEqual([]);
    expect(git('for-each-ref', '--format=%(objectname)', 'refs/heads/main')).toBe(commit);
  });

  test('are refused also with a token that may write, unless Git’s clients write them so', async () => {
    await sendAll(front.url, 'write', await authorizationWith('write_repository'));
    // An absolute address reaches the service, and Git, without scheme and host.
    const written = branches('write').map((name) =>
      all[Number(name.split('-')[1])]?.uri.replace(/^http:\/\/git.example/i, ''),
    );
    expect(new Set(written)).toEqual(new Set(['/project.git/git-receive-pack']));
  });

  test('callers behind the proxy are counted by the address that nginx saw, whatever they invent', async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 20; i++) {
      const headers = { 'x-forwarded-for': `198.51.100.${i}` };
      statuses.push((await fetch(`${front.serviceUrl}/api/daily-tps`, { headers })).status);
    }
    expect(statuses).toEqual([...Array(5).fill(200), ...Array(15).fill(429)]);
  });

  test('passes 60 kB of an address and of the head of an answer, and lets the service say which body is too large', async () => {
    const long = 'a'.repeat(60_000);
    const { headers: heads } = await request(`${front.serviceUrl}/profile?next=${long}`, {
      maxHeaderSize: 2 ** 17,
    });
    expect(heads.location).toContain(long);
    const body = JSON.stringify({ title: 'a'.repeat(1_100_000) });
    const headers = { 'content-type': 'application/json' };
    const refused = await fetch(`${front.serviceUrl}/projects/1/alerts/notify/x.json`, {
      method: 'POST',
      headers,
      body,
    });
    expect([refused.status, await refused.text()]).toEqual([413, expect.not.stringContaining('<html>')]);
  });
});
