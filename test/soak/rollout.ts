import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { contentOfCleanRun, everythingRecorded } from '../distributed/clean-run.ts';
import { type RoleProcess, startRole } from '../distributed/roles.ts';
import { pause, until } from '../infra/ports/opened.ts';
import { contentOf, differences } from '../support/content.ts';
import { joinPipeline } from '../support/distributed.ts';
import { ingestLines } from '../support/pipeline.ts';
import { startServices } from '../support/services/index.ts';
import { freePort } from '../support/services/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { checkOut } from './revision.ts';

// A rolling upgrade from an earlier commit of this repository to the working tree, and back.
// usage: npx node test/soak/rollout.ts REVISION [--other-schema]

const [revision = 'HEAD', option] = process.argv.slice(2);
const run = promisify(execFile);
const SHARED_STORE = 'serve/application/compose/stored-schema.ts';
const SETTLED_MS_MAX = 300_000;
const say = (text: string) => process.stdout.write(`${text}\n`);

async function prepareEarlier(directory: string): Promise<{ main: string; noticesMigrations: boolean }> {
  await checkOut(revision, directory);
  const stored = join(directory, SHARED_STORE);
  const noticesMigrations = existsSync(stored);
  if (option === '--other-schema') {
    const text = readFileSync(stored, 'utf8');
    const changed = text.replace('decoders: DECODER_VERSIONS, version }', "decoders: 'of another version' }");
    if (changed === text) throw new Error(`${SHARED_STORE} of ${revision} has another form`);
    writeFileSync(
      stored,
      changed.replace(
        '    const { runtime, config, roles, waits, version } = options;',
        '    const { runtime, config, roles, waits } = options;',
      ),
    );
  }
  return { main: join(directory, 'serve/main.ts'), noticesMigrations };
}

/** Asks a server without end, and counts what it answers: each status, with the text of what is no answer. */
function ask(url: string) {
  const answers = new Map<string, number>();
  let isOver = false;
  const asking = (async () => {
    for (let i = 0; !isOver; i++) {
      const day = `2020-01-${String((i % 28) + 1).padStart(2, '0')}`;
      const answer = await fetch(`${url}/api/daily-tps?relay_chain=polkadot&start_date=${day}`).then(
        async (response) => {
          const text = await response.text();
          return response.ok ? String(response.status) : `${response.status} ${text}`;
        },
        (error) => String(error.cause ?? error),
      );
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
      await pause(50);
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await asking;
      return Object.fromEntries(answers);
    },
  };
}

using directory = temporaryDirectory();
const earlier = await prepareEarlier(join(directory.path, 'earlier'));
await using services = await startServices();
const environment = services.environment({
  LOG_LEVEL: 'warn',
  SECRETS_KEY: randomBytes(32).toString('base64'),
  ANONYMOUS_PER_MINUTE: '0',
  ANONYMOUS_PER_DAY: '0',
  ANONYMOUS_STORE_SECONDS: '0',
});
const faults: string[] = [];
const start = async (role: string, main?: string, waits = true) =>
  startRole(role, { ...environment, OPERATOR_PORT: String(await freePort()) }, waits, main);
const hasEnded = ({ child }: RoleProcess) => child.exitCode !== null || child.signalCode !== null;

const lines = everythingRecorded().filter((_, i) => i % 2 === 0);
const part = (i: number) => lines.filter((_, n) => n % 3 === i);
const recorded = (i: number) => contentOfCleanRun(lines.filter((_, n) => n % 3 <= i));

say(`starting load, work and serve of ${revision}`);
const writers = [await start('load', earlier.main), await start('work', earlier.main)];
const server = await start('serve', earlier.main);

say('starting those of this version beside them');
const earlierReader = ask(server.url);
if (!earlier.noticesMigrations) for (const one of writers) await one.kill('SIGTERM');
const mine = await Promise.all([start('load'), start('work'), start('serve')]);
const reader = ask((mine[2] as RoleProcess).url);
const operator = await joinPipeline(environment, 'ingest');
await ingestLines(operator, part(0));
await pause(5000);
const ended = writers.filter(hasEnded).length;
say(
  `${ended} of ${writers.length} earlier load and work processes have ended: the schema is ${ended > 0 ? 'another one' : 'the same'}`,
);
if (ended !== 0 && ended !== writers.length) faults.push('only some of the earlier writers have ended');
if (option === '--other-schema' && ended === 0)
  faults.push('the earlier writers have not noticed the migration');
await ingestLines(operator, part(1));
await operator.waitUntilComputed();
faults.push(...differences(await contentOf(operator), await recorded(1)));

if (ended > 0 && earlier.noticesMigrations) {
  const OPERATOR_PORT = String(await freePort());
  const waiting = await startRole('work', { ...environment, OPERATOR_PORT }, false, earlier.main);
  const startup = () =>
    fetch(`http://127.0.0.1:${OPERATOR_PORT}/health/startup`).then(
      ({ status }) => status,
      () => 0,
    );
  await until('it waits', async () => (await startup()) === 503, SETTLED_MS_MAX);
  await pause(3000);
  if ((await startup()) !== 503) faults.push('an earlier work process works on a schema that is not its own');
  say('taking the rollout back: an earlier version migrates, and its process that waited works');
  await run(process.execPath, [earlier.main, 'migrate'], { env: { ...process.env, ...environment } });
  await until('the later writers end', () => mine.slice(0, 2).every(hasEnded), SETTLED_MS_MAX);
  await until('it works', async () => (await startup()) === 200, SETTLED_MS_MAX);
  await waiting.kill('SIGTERM');
}
await operator.close();
const answered = { earlier: await earlierReader.end(), later: await reader.end() };
say(`answers of the servers: ${JSON.stringify(answered)}`);
for (const [version, answers] of Object.entries(answered)) {
  const failed = Object.keys(answers).filter((answer) => answer !== '200');
  if (failed.length > 0) faults.push(`a server of the ${version} version answered ${failed.join(', ')}`);
}
if (faults.length > 0) for (const one of [server, mine[2]]) say(`a server said: ${one?.said()}`);
await Promise.all([...writers, ...mine, server].map((one) => one.kill()));
for (const fault of faults) say(fault);
say(faults.length === 0 ? 'no fault' : `${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
