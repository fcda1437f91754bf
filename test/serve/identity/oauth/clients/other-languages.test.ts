import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWorld, PASSWORD, type World } from '../../../accounts/world.ts';
import { type Party, party } from '../flow.ts';
import { allow } from './person.ts';

const HERE = import.meta.dirname;
/** Clients are installed here once; `npm ci` empties the directory. */
const KEPT = join(HERE, '../../../../../node_modules/.cache/oauth-clients');
const PYTHON_PACKAGES = ['Authlib==1.9.9', 'requests==2.32.5', 'requests-oauthlib==2.0.0'];

/** The command that runs a client; null with a warning when it cannot be installed. */
function prepared(name: string, make: () => string): string | null {
  try {
    mkdirSync(KEPT, { recursive: true });
    return make();
  } catch (error) {
    const reason = String((error as { stderr?: Buffer }).stderr ?? error)
      .trim()
      .split('\n')
      .at(-1);
    console.warn(`NOT TESTED against ${name}: ${reason}`);
    return null;
  }
}

const python = prepared('Authlib and requests-oauthlib (Python)', () => {
  const binary = join(KEPT, 'python/bin/python');
  if (!existsSync(join(KEPT, 'python/installed'))) {
    execFileSync('python3', ['-m', 'venv', join(KEPT, 'python')], { stdio: 'pipe' });
    execFileSync(binary, ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', ...PYTHON_PACKAGES], {
      stdio: 'pipe',
    });
    mkdirSync(join(KEPT, 'python/installed'));
  }
  return binary;
});

const go = prepared('golang.org/x/oauth2 (Go)', () => {
  const binary = join(KEPT, 'go/flow');
  if (!existsSync(binary)) {
    mkdirSync(join(KEPT, 'go'), { recursive: true });
    for (const file of ['go.mod', 'go.sum', 'flow.go']) cpSync(join(HERE, file), join(KEPT, 'go', file));
    execFileSync('go', ['build', '-o', binary, '.'], { cwd: join(KEPT, 'go'), stdio: 'pipe' });
  }
  return binary;
});

let world: World;
let origin: string;
let the: Party;
beforeAll(async () => {
  if (python === null && go === null) return;
  world = await openWorld();
  origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
  the = await party(world);
});
afterAll(() => world?.close());

/** Runs a client and opens the URLs that it prints, as a user would. */
async function runClient(command: string, args: readonly string[], who: Party): Promise<void> {
  const child = spawn(command, args, { stdio: 'pipe' });
  const said: { open?: string; done?: boolean }[] = [];
  const errors = text(child.stderr);
  for await (const line of createInterface(child.stdout)) {
    const told = JSON.parse(line) as { open?: string; done?: boolean };
    said.push(told);
    if (told.open !== undefined) child.stdin.write(`${await allow(who, told.open)}\n`);
  }
  expect(said.at(-1), await errors).toEqual({ done: true });
}

const argsOf = (who: Party, callback = who.callback) => [
  origin,
  who.application.id,
  who.secret,
  callback,
  who.user.username,
  PASSWORD,
];

describe.runIf(python !== null)('Python', () => {
  test.each(['Authlib:client_secret_basic', 'Authlib:client_secret_post', 'requests-oauthlib'])(
    '%s, the whole flow',
    async (library) => {
      await runClient(python as string, [join(HERE, 'flow.py'), library, ...argsOf(the)], the);
    },
  );

  test('Authlib as a public application on its own loopback port', async () => {
    const open = await party(world, { is_confidential: false, redirect_uris: 'http://127.0.0.1/callback' });
    await runClient(
      python as string,
      [join(HERE, 'flow.py'), 'Authlib:none', ...argsOf(open, 'http://127.0.0.1:50505/callback')],
      open,
    );
  });
});

describe.runIf(go !== null)('Go', () => {
  test('golang.org/x/oauth2, the complete flow', async () => {
    await runClient(go as string, argsOf(the), the);
  });
});
