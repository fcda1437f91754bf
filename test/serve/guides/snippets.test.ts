import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKey } from '../../../serve/accounts/keys.ts';
import { readGuides } from '../../../serve/guides/guides.ts';
import { FakeSidecar, recordedBlocks } from '../../ingest/sources/fake-sidecar.ts';
import { folderOf } from '../../support/fixtures.ts';
import { blocksOf } from '../../support/guide-blocks.ts';
import { ingestAndCompute } from '../../support/pipeline.ts';
import { recordedLines } from '../../support/recordings.ts';
import { ROOT } from '../../support/source-files.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { aKey, openWorld, type World } from '../accounts/world.ts';
import { aCode, challengeOf, party, verifierOf } from '../identity/oauth/flow.ts';

/** Blocks that are not run here, and what runs them or what they do. */
const RUN_ELSEWHERE = {
  compose: 'test/soak/compose.ts',
  helm: 'test/infra/helm.test.ts',
  services: 'test/distributed/processes.test.ts',
  settings: 'test/infra/distributed/kafka-access.test.ts',
  git: 'test/serve/identity/oauth/git.test.ts',
  clients: 'test/serve/clients',
  monitoring: 'test/infra/prometheus',
  heartbeat: 'test/serve/alerts/pager-health/pager-health.test.ts',
  tracing: 'test/serve/tracing.test.ts',
  nodes: 'test/serve/application/cli/nodes.test.ts',
  days: 'test/serve/application/cli/start-node.test.ts',
  state: 'test/serve/application/cli/snapshots.test.ts',
} as const;

const place = temporaryDirectory();
const programs = join(place.path, 'programs');
/** Where the server of readers keeps its data, as far as commands look. */
const stored = join(place.path, 'stored');
let world: World;
let url: string;
let sidecar: FakeSidecar;
let environment: Record<string, string>;

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const guides = [...readGuides().values()].flat();

beforeAll(async () => {
  mkdirSync(programs);
  symlinkSync(join(ROOT, 'serve/chain-metrics'), join(programs, 'chain-metrics'));
  const DATA_DIR = stored;
  execFileSync(join(programs, 'chain-metrics'), ['migrate'], { env: { ...process.env, DATA_DIR } });
  world = await openWorld();
  await ingestAndCompute(world.pipeline, recordedLines('blocks'));
  url = await world.app.listen({ port: 0, host: '127.0.0.1' });
  const recorded = recordedBlocks('polkadot');
  sidecar = await new FakeSidecar([...recorded.values()]).listen();
  const first = String(Math.min(...recorded.keys()));
  environment = { ...(await whatReadersHave()), SIDECAR: sidecar.url, FIRST: first, LAST: first };
});
afterAll(async () => {
  await sidecar[Symbol.asyncDispose]();
  await world.close();
  place[Symbol.dispose]();
});

describe('the commands of the guide', () => {
  const scripts = guides.flatMap(({ name, text }) => {
    const blocks = blocksOf(text, 'sh').filter(({ kind }) => kind === '');
    return blocks.length === 0 ? [] : [[name, blocks.map(({ code }) => code).join('\n')] as const];
  });

  it.each(scripts)('%s succeed in their order', async (_name, script) => {
    const { code, said } = await runScript(script);
    expect(code, said).toBe(0);
  });

  it('are run here, or named with what runs them', () => {
    const kinds = guides.flatMap(({ text }) => blocksOf(text, 'sh').map(({ kind }) => kind));
    expect(new Set(kinds.filter((kind) => kind !== ''))).toEqual(new Set(Object.keys(RUN_ELSEWHERE)));
  });
});

it('the README shows what the server answers', async () => {
  const [, request, answer] = blocksOf(readme, 'sh')
    .concat(blocksOf(readme, 'json'))
    .map(({ code }) => code);
  const { stdout } = await runScript(request as string);
  expect(JSON.parse(stdout)).toEqual(JSON.parse(answer as string));
});

/** Keys, tokens and codes, as the pages give them to their users. */
async function whatReadersHave(): Promise<Record<string, string>> {
  const the = await party(world, { scopes: ['api', 'read_user', 'openid'] });
  const verifier = verifierOf();
  const code = await aCode(the, {
    scope: 'read_user openid',
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
  });
  const key = await aKey(world, the.user);
  const { text: token } = await createKey(world.accounts, the.user, 'personal', {
    ...{ name: 'guide', scopes: ['api'], expires_ms: 0 },
  });
  const project = await created(token, '/projects', { name: 'Watch' });
  const integration = await created(token, `/projects/${project.id}/integrations`, {
    type: 'HTTP',
    name: 'Tool',
  });
  const pagerduty = await created(token, `/projects/${project.id}/integrations`, { type: 'PAGERDUTY' });
  return {
    ...{ API_KEY: key.text, ACCESS_TOKEN: token, CODE: code, VERIFIER: verifier },
    ...{ CLIENT_ID: the.application.id, CLIENT_SECRET: the.secret, REDIRECT_URI: the.callback },
    PROJECT: String(project.id),
    INTEGRATION: String(integration.id),
    INTEGRATION_KEY: String(integration.authorization_key),
    ROUTING_KEY: String(pagerduty.authorization_key),
  };
}

async function created(token: string, path: string, payload: object): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await world.app.inject({ method: 'POST', url: `/api/v4${path}`, headers, payload });
  if (answer.statusCode !== 201) throw new Error(`${path}: ${answer.body}`);
  return answer.json();
}

/** A shell in a directory with blocks, whose `curl` fails where the answer is an error that the text does not ask for. */
async function runScript(code: string): Promise<{ code: number | null; stdout: string; said: string }> {
  const directory = mkdtempSync(join(place.path, 'guide-'));
  mkdirSync(join(directory, 'blocks'));
  cpSync(stored, join(directory, 'data'), { recursive: true, verbatimSymlinks: true });
  copyFileSync(
    new URL('polkadot.ndjson.gz', folderOf('blocks')),
    join(directory, 'blocks/polkadot.ndjson.gz'),
  );
  const script = `curl() { case " $* " in *' -w '*) command curl "$@" ;; *) command curl --fail-with-body "$@" ;; esac; }
${code.replaceAll('http://localhost:3000', url)}`;
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: directory,
    env: {
      ...process.env,
      ...environment,
      PATH: `${programs}:${dirname(process.execPath)}:${process.env.PATH}`,
    },
  });
  const [stdout, stderr, ended] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code: ended[0], stdout, said: `${stdout}${stderr}` };
}
