import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startRole } from '../distributed/roles.ts';
import { until } from '../infra/ports/opened.ts';
import { ENDPOINTS } from '../serve/metrics/endpoints.ts';
import { ROOT } from '../support/source-files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { checkOut } from './revision.ts';

// A backup of an earlier commit, restored by the working tree: metrics, accounts, projects and alerts must be the same.
// usage: npx node test/soak/restore.ts REVISION

const PASSWORD = 'correct horse battery';
const COMPUTED_MS_MAX = 300_000;
const [revision = 'HEAD'] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);

using place = temporaryDirectory();
const earlier = join(place.path, 'earlier');
await checkOut(revision, earlier);
const backup = join(place.path, 'backup.tar.zst');
const limits = { ANONYMOUS_PER_MINUTE: '0', ANONYMOUS_PER_DAY: '0', ANONYMOUS_STORE_SECONDS: '0' };

/** Runs a command of one of the two versions. */
async function command(root: string, directory: string, args: readonly string[], input = ''): Promise<void> {
  const child = spawn(process.execPath, [join(root, 'serve/main.ts'), ...args], {
    env: { ...process.env, DATA_DIR: join(place.path, directory) },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  child.stdin.end(input);
  const [failure, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${failure}`);
}

interface Caller {
  readonly url: string;
  readonly token: string;
}

async function call({ url, token }: Caller, path: string, body?: object): Promise<string> {
  const response = await fetch(`${url}${path}`, {
    ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
  });
  return `${response.status} ${await response.text()}`;
}

const created = async (caller: Caller, path: string, body: object) => {
  const answer = await call(caller, path, body);
  if (!/^20[01] /.test(answer)) throw new Error(`POST ${path}: ${answer}`);
  return JSON.parse(answer.slice(4));
};

async function signIn(url: string): Promise<Caller> {
  const body = new URLSearchParams({ grant_type: 'password', username: 'ann', password: PASSWORD });
  const response = await fetch(`${url}/oauth/token`, { method: 'POST', body });
  const { access_token: token } = (await response.json()) as { access_token: string };
  if (!token) throw new Error(`no token: ${response.status}`);
  return { url, token };
}

async function untilComputed(caller: Caller): Promise<void> {
  await until(
    'all metrics are computed',
    async () => {
      const { computing } = JSON.parse((await call(caller, '/api/status')).slice(4));
      return computing.touched_days_waiting === 0 && !computing.held;
    },
    COMPUTED_MS_MAX,
  );
}

/** Parameters that name one thing, such as an account: their paths have no answer for all of them. */
const NAMES_ONE = new Set(['account', 'address', 'hash', 'referendum_id']);
const DATES = { start_date: '2023-01-01', end_date: '2025-12-31' };

/** The paths of an endpoint: one for each relay chain, or one if it has no such parameter. */
function pathsOf({ path, parameters }: (typeof ENDPOINTS)[number]): string[] {
  const dates = Object.entries(DATES).filter(([name]) => name in parameters);
  const relays = parameters.relay_chain?.values?.map((name) => [['relay_chain', name]]) ?? [[]];
  return relays.map((relay) => `${path}?${new URLSearchParams([...relay, ...dates] as [string, string][])}`);
}

/** Every answer that both versions must agree on. */
async function answersOf(caller: Caller): Promise<Map<string, string>> {
  const served = ENDPOINTS.filter(
    ({ parameters }) => !Object.keys(parameters).some((name) => NAMES_ONE.has(name)),
  );
  const ofUser = ['user', 'projects', 'projects/1/alerts', 'projects/1/integrations'];
  const paths = [...served.flatMap(pathsOf), ...ofUser.map((path) => `/api/v4/${path}`)];
  const answers = new Map<string, string>();
  for (const path of paths) answers.set(path, await call(caller, path));
  return answers;
}

say(`loading the sample with ${revision}`);
await command(
  earlier,
  'old',
  ['users', 'create', 'ann', '--email', 'ann@example.org', '--password-stdin'],
  PASSWORD,
);
await command(earlier, 'old', ['ingest', join(ROOT, 'ingest/sample')]);
const environment = (directory: string) => ({
  ...limits,
  DATA_DIR: join(place.path, directory),
  LOG_LEVEL: 'error',
});
const before = await startRole('', environment('old'), true, join(earlier, 'serve/main.ts'));
const owner = await signIn(before.url);
const { id } = await created(owner, '/api/v4/projects', { name: 'Render farm' });
const { url, authorization_key: token } = await created(owner, `/api/v4/projects/${id}/integrations`, {
  type: 'HTTP',
  name: 'Farm monitoring',
});
await created({ url: before.url, token }, new URL(url).pathname, { title: 'Disk full', severity: 'high' });
await untilComputed(owner);
const expected = await answersOf(owner);
await command(earlier, 'old', ['backup', backup]);
await before.kill('SIGTERM');

say('restoring it with this version');
await command(ROOT, 'new', ['restore', backup]);
const after = await startRole('', environment('new'));
const caller = await signIn(after.url);
await untilComputed(caller);
const found = await answersOf(caller);
const withToken = await call({ url: after.url, token: owner.token }, '/api/v4/user');
await after.kill('SIGTERM');

/** Texts of errors may change between versions. */
const comparable = (answer = '') => (answer.startsWith('200 ') ? answer : answer.slice(0, 3));
const faults = [...expected].filter(
  ([path, answer]) => comparable(found.get(path)?.replaceAll(after.url, before.url)) !== comparable(answer),
);
for (const [path, answer] of faults)
  say(`${path}\n  before ${answer.slice(0, 400)}\n  after  ${found.get(path)?.slice(0, 400)}`);
if (!withToken.startsWith('200 ')) say(`a token from before the backup answers ${withToken}`);
const answered = [...expected.values()].filter(
  (answer) => answer.startsWith('200 ') && answer !== '200 []',
).length;
say(`${expected.size} paths compared, ${answered} of them with rows; ${faults.length} differ`);
process.exitCode = faults.length === 0 && withToken.startsWith('200 ') ? 0 : 1;
