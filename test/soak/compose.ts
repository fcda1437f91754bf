import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual, promisify } from 'node:util';
import { until } from '../infra/ports/opened.ts';
import { freePort } from '../support/services/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

// `npx node test/soak/compose.ts`: infra/compose.yaml as an operator uses it, from `up` to `down`, beside a server of
// the embedded profile that must answer the same. Wants Docker with its compose plugin; KAFKA_IMAGE, REDIS_IMAGE,
// CLICKHOUSE_IMAGE and NODE_IMAGE name other images than the official ones. Where those cannot be pulled:
//   eval "$(test/support/images/make | sed 's/^/export /')"
const secret = () => randomBytes(24).toString('hex');
const PORT = String(await freePort());
const SAMPLE = 'ingest/sample';
const BIN = new URL('../../serve/chain-metrics', import.meta.url).pathname;
const environment = {
  ...process.env,
  PORT,
  KAFKA_PASSWORD: secret(),
  REDIS_PASSWORD: secret(),
  CLICKHOUSE_PASSWORD: secret(),
  SECRETS_KEY: randomBytes(32).toString('base64'),
  DOCKER_BUILDKIT: process.env.DOCKER_BUILDKIT ?? '0',
};
const project = ['compose', '--project-name', 'chain-metrics-check', '--file', 'infra/compose.yaml'];
const began = performance.now();
const run = promisify(execFile);

const compose = async (...args: string[]) => {
  const { stdout, stderr } = await run('docker', [...project, ...args], {
    env: environment,
    maxBuffer: 2 ** 26,
  });
  const seconds = Math.round((performance.now() - began) / 1000);
  process.stdout.write(`${seconds} s: ${args.join(' ')}\n`);
  return stdout + stderr;
};
const WAIT = ['--wait', '--wait-timeout', '300'];

/** Every path that a server has, asked for every relay chain: what it answers. */
async function answersOf(url: string): Promise<Map<string, unknown>> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> };
  const found = new Map<string, unknown>();
  for (const path of Object.keys(paths)) {
    if (!path.startsWith('/api/') || path.includes('{') || !('get' in (paths[path] as object))) continue;
    // What a server says of itself differs.
    if (path === '/api/status') continue;
    for (const relay of ['polkadot', 'kusama', 'westend']) {
      const asked = `${path}?relay_chain=${relay}`;
      const answer = await fetch(`${url}${asked}`);
      found.set(asked, { status: answer.status, body: await answer.json().catch(() => undefined) });
    }
  }
  return found;
}

async function embeddedAnswers(): Promise<Map<string, unknown>> {
  using directory = temporaryDirectory();
  const child = spawn(BIN, ['start', '--sample'], {
    env: { ...process.env, PORT: '0', DATA_DIR: directory.path, PROFILE: 'embedded' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (piece) => {
    said += piece;
  });
  try {
    const url = () => /answers on (http:\S+)/.exec(said)?.[1];
    await until('the embedded server answers', () => url() !== undefined, 120_000);
    return await answersOf(url() as string);
  } finally {
    child.kill('SIGKILL');
  }
}

let expected: Map<string, unknown>;
async function isTheSame(when: string): Promise<void> {
  const url = `http://127.0.0.1:${PORT}`;
  const differing = async () => {
    const answers = await answersOf(url);
    return [...expected].filter(([asked, answer]) => !isDeepStrictEqual(answers.get(asked), answer));
  };
  await until(
    `all answers are the same ${when}`,
    async () => (await differing()).length === 0,
    120_000,
  ).catch(async (error: unknown) => {
    for (const [asked, answer] of (await differing()).slice(0, 5))
      process.stdout.write(`${asked} should be ${JSON.stringify(answer).slice(0, 500)}\n`);
    throw error;
  });
  process.stdout.write(`${expected.size} answers are the same ${when}\n`);
}

try {
  await compose('build');
  await compose('up', ...WAIT);
  expected = await embeddedAnswers();
  process.stdout.write(await compose('exec', '-T', 'ingest', 'chain-metrics', 'ingest', SAMPLE));
  await isTheSame('as those of one process');
  await compose('up', '--scale', 'load=2', '--scale', 'work=2', ...WAIT);
  await compose('exec', '-T', 'ingest', 'chain-metrics', 'ingest', SAMPLE);
  await isTheSame('when the sample is taken in again by more processes');
  for (const service of ['redis', 'clickhouse', 'kafka']) {
    await compose('kill', service);
    await compose('start', service);
  }
  await isTheSame('after each service was killed');
  await compose('down', '--timeout', '30');
  await compose('up', ...WAIT);
  await isTheSame('after all was taken down and started on the same volumes');
} finally {
  process.stdout.write(await compose('logs', '--tail', '5', '--no-color').catch(String));
  await compose('down', '--volumes', '--timeout', '30');
}
process.exit(0);
