import { afterEach, describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { linesOf, run, serve } from '../application/cli/program.ts';
import { runHere } from '../application/cli/run-here.ts';

const places: ReturnType<typeof temporaryDirectory>[] = [];
const place = () => {
  const made = temporaryDirectory();
  places.push(made);
  return { DATA_DIR: made.path };
};
afterEach(() => {
  for (const one of places.splice(0)) one[Symbol.dispose]();
});

const signIn = (url: string, username: string, password: string) =>
  fetch(`${url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', username, password }),
  });

describe('chain-metrics users', () => {
  test('creates and changes accounts, with and without a running server', async () => {
    const env = place();
    const made = await run(['users', 'create', 'alice', '--email', 'alice@example.org', '--json'], { env });
    expect(made.code).toBe(0);
    const { users, password } = JSON.parse(made.stdout);
    expect(users[0]).toMatchObject({ id: 1, username: 'alice', is_locked: false, two_factor: false });

    const server = await serve([], env);
    const token = await signIn(server.url, 'alice', password);
    expect(token.status).toBe(200);
    const { access_token } = (await token.json()) as { access_token: string };
    const user = () =>
      fetch(`${server.url}/api/v4/user`, { headers: { authorization: `Bearer ${access_token}` } });
    expect(await (await user()).json()).toMatchObject({ email: 'alice@example.org' });
    expect((await runHere(['applications', 'list'], env)).stdout).toBe('There is no application yet.\n');

    expect((await runHere(['users', 'lock', 'alice'], env)).stdout).toMatch(/^alice is locked/);
    expect((await user()).status).toBe(401);
    expect((await signIn(server.url, 'alice', password)).status).toBe(400);
    await runHere(['users', 'unlock', 'alice@example.org'], env);
    expect((await user()).status).toBe(200);

    const reset = await run(['users', 'reset-password', 'alice', '--password-stdin'], {
      env,
      input: 'a wholly new password\n',
    });
    expect(reset.code).toBe(0);
    expect(reset.stdout).not.toContain('wholly');
    expect((await signIn(server.url, 'alice', 'a wholly new password')).status).toBe(200);
    expect(linesOf((await runHere(['users', 'list'], env)).stdout)[1]).toMatch(
      /^1 +alice +alice@example\.org/,
    );
    expect(server.logged()).not.toContain('wholly');

    expect((await runHere(['users', 'delete', 'alice'], env)).stdout).toMatch(/^alice is deleted/);
    expect((await user()).status).toBe(401);
    expect((await signIn(server.url, 'alice', 'a wholly new password')).status).toBe(400);
    expect((await runHere(['users', 'list'], env)).stdout).toBe('There is no account yet.\n');
  });

  test('reports an error in one line', async () => {
    const env = place();
    await runHere(['users', 'create', 'bob'], env);
    const wrong: [string[], RegExp][] = [
      [['users', 'lock', 'nobody'], /there is no account nobody/],
      [['users', 'delete', 'nobody'], /there is no account nobody/],
      [['users', 'confirm-email', 'bob'], /the account bob has no email/],
      [['applications', 'block', 'f'], /there is no application f/],
      [['users', 'create', 'bob'], /username: Username is already taken/],
      [['users', 'create', 'a b'], /username: Use 2 to 39/],
      [['users', 'frobnicate'], /unknown command/],
    ];
    for (const [args, says] of wrong) {
      const { code, stderr } = await runHere(args, env);
      expect(stderr).toMatch(says);
      expect(code).toBe(2);
    }
  });
});
