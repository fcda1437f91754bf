import { setTimeout as pause } from 'node:timers/promises';
import { DATABASE, raw, sql } from '../../infra/sql.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { contentOfCleanRun, everythingRecorded } from '../distributed/clean-run.ts';
import { contentOf, differences } from '../support/content.ts';
import { joinPipeline } from '../support/distributed.ts';
import { ingestLines } from '../support/pipeline.ts';
import { startServices } from '../support/services/index.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { ask, caughtUp, ReplicaProxy } from './replicas/replica-proxy.ts';
import { CLUSTER, type Replica, startReplicas, startZooKeeper } from './replicas/servers.ts';

// `npx node test/soak/replicas.ts [SHARE]`: three replicas of ClickHouse and ZooKeeper under CLICKHOUSE_CLUSTER. Each is
// killed once while blocks load; in the end each has the same rows as one process. Needs a C compiler.
const share = Number(process.argv[2] ?? 0.3);
const REPLICAS = 3;
const AWAY_MS = 4000;
const say = (text: string) => process.stdout.write(`${text}\n`);

const lines = everythingRecorded().filter((_, i) => (i * 7919) % 1000 < share * 1000);
const expected = await contentOfCleanRun(lines);
using directory = temporaryDirectory();
await using services = await startServices();
await using keeper = await startZooKeeper(directory.path);
const replicas = await startReplicas(directory.path, keeper.port, REPLICAS);
const proxy = new ReplicaProxy(replicas);
const faults: string[] = [];
try {
  const environment = services.environment({
    CLICKHOUSE_URL: await proxy.listen(),
    CLICKHOUSE_CLUSTER: CLUSTER,
  });
  const pipeline = await joinPipeline(environment, 'load', 'work');
  faults.push(...(await equalInserts(pipeline)));
  say(`${lines.length} lines`);
  const feeding = feed(pipeline);
  feeding.catch(() => undefined);
  for (const [i, replica] of replicas.entries()) {
    await pause(AWAY_MS);
    await replica.stop();
    say(`replica ${i} is killed`);
    await proxy.leave(replica);
    await pause(AWAY_MS);
    await replica.start();
    await proxy.join(replica);
  }
  await feeding;
  await pipeline.waitUntilComputed();
  await pipeline.close();
  for (const [i, replica] of replicas.entries()) faults.push(...(await faultsOf(replica, `replica ${i}`)));
} finally {
  proxy.close();
  await Promise.all(replicas.map((replica) => replica.close()));
}
say(faults.length === 0 ? 'the same rows on every replica' : faults.join('\n'));
process.exit(faults.length === 0 ? 0 : 1);

async function feed(pipeline: Pipeline): Promise<void> {
  for (let at = 0; at < lines.length; at += 20) {
    await ingestLines(pipeline, lines.slice(at, at + 20));
    await pause(100);
  }
}

/** Both count: which rows say the same is decided by their keys and versions. */
async function equalInserts({ runtime: { store } }: Pipeline): Promise<string[]> {
  await store.run(`CREATE TABLE ${DATABASE}.equal (n UInt8) ENGINE = MergeTree ORDER BY n`);
  for (let i = 0; i < 2; i++) await store.run(`INSERT INTO ${DATABASE}.equal VALUES (1)`);
  const [row] = await store.rows<{ n: number }>(sql`SELECT count() AS n FROM ${raw(`${DATABASE}.equal`)}`);
  await store.run(`DROP TABLE ${DATABASE}.equal SYNC`);
  return row?.n === 2 ? [] : ['the second of two equal inserts is gone'];
}

async function faultsOf(replica: Replica, name: string): Promise<string[]> {
  await caughtUp(replica);
  const state = await ask(
    replica,
    'SELECT sum(is_readonly), min(active_replicas), sum(queue_size), count() FROM system.replicas FORMAT TSV',
  );
  say(`${name}: read-only, replicas, queued, tables: ${state.trim().replaceAll('\t', ', ')}`);
  const reader = await joinPipeline(
    services.environment({ CLICKHOUSE_URL: replica.url, MIGRATE_ON_START: 'false' }),
  );
  const found = differences(await contentOf(reader), expected);
  await reader.close();
  return found.map((fault) => `${name}: ${fault}`);
}
