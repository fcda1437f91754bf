import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { revokeGrant } from '../../../../serve/accounts/grants.ts';
import { createKey } from '../../../../serve/accounts/keys.ts';
import type { User } from '../../../../serve/accounts/tables.ts';
import { guideBlocks } from '../../../support/guide-blocks.ts';
import { canRun } from '../../../support/needed.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { aUser, openWorld, type World } from '../../accounts/world.ts';
import { aPair, party } from './flow.ts';
import { FCGIWRAP, type GitFront, NGINX, startGitFront } from './git-front.ts';

const directory = temporaryDirectory();
const home = directory.path;
const ENV = {
  PATH: process.env.PATH ?? '',
  HOME: home,
  GIT_TERMINAL_PROMPT: '0',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.org',
};
const run = promisify(execFile);
const git = (args: string[], cwd = home) => run('git', args, { cwd, env: ENV });

const [CLONE] = guideBlocks('oauth', 'git');
const hasNginx = canRun(NGINX, FCGIWRAP);

let world: World;
let user: User;
let front: GitFront;
let clones = 0;

beforeAll(async () => {
  if (!hasNginx) return;
  world = await openWorld();
  user = await aUser(world);
  const service = await world.app.listen({ host: '127.0.0.1', port: 0 });
  const repositories = join(home, 'repositories');
  mkdirSync(repositories);
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', join(repositories, 'project.git')], {
    env: ENV,
  });
  front = await startGitFront(service, repositories, join(home, 'front'));
});
afterAll(async () => {
  await front?.stop();
  await world?.close();
  directory[Symbol.dispose]();
});

async function tokenWith(...scopes: string[]): Promise<{ text: string; id: string }> {
  const made = await createKey(world.accounts, user, 'personal', {
    name: scopes.join(),
    scopes,
    expires_ms: 0,
  });
  return { text: made.text, id: made.grant.id };
}

async function clone(token: string, name = 'oauth2'): Promise<string> {
  const to = join(home, `clone-${++clones}`);
  const address = front.url.replace('//', `//${name}:${token}@`);
  const command = CLONE?.trim().replace('https://oauth2:cmp_…@git.example', address);
  await run('sh', ['-c', `${command} ${to} -q`], { cwd: home, env: ENV });
  return to;
}

async function push(clone: string, text: string): Promise<void> {
  writeFileSync(join(clone, 'file'), text);
  await git(['add', 'file'], clone);
  await git(['commit', '-q', '-m', text], clone);
  await git(['push', '-q', 'origin', 'HEAD:main'], clone);
}

describe.runIf(hasNginx)('Git over HTTPS, with the token as password of the user oauth2', () => {
  test('write_repository clones, fetches and pushes; read_repository clones and fetches', async () => {
    const writer = await clone((await tokenWith('write_repository')).text);
    await push(writer, 'first');
    const reader = await clone((await tokenWith('read_repository')).text);
    expect(readFileSync(join(reader, 'file'), 'utf8')).toBe('first');
    await push(writer, 'second');
    await git(['pull', '-q'], reader);
    expect(readFileSync(join(reader, 'file'), 'utf8')).toBe('second');
    await expect(push(reader, 'third')).rejects.toThrow(/403/);
  });

  test('an access token of an application works like a personal access token', async () => {
    const the = await party(world, { scopes: ['read_repository'] });
    const { access_token } = await aPair(the, { scope: 'read_repository' });
    expect(await clone(access_token)).toContain('clone');
  });

  test.each([['api'], ['read_user'], ['openid']])(
    'scope %s alone gives no access to repositories',
    async (scope) => {
      await expect(clone((await tokenWith(scope)).text)).rejects.toThrow(/403/);
    },
  );

  test('a revoked token, another user name and a missing token are 401', async () => {
    const { text, id } = await tokenWith('read_repository');
    await expect(clone(text, user.username)).rejects.toThrow(/Authentication failed|could not read/);
    await revokeGrant(world.accounts, id);
    await expect(clone(text)).rejects.toThrow(/Authentication failed|could not read/);
    await expect(git(['ls-remote', `${front.url}/project.git`])).rejects.toThrow(
      /could not read|terminal prompts disabled/,
    );
  });
});
