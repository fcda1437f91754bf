import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { jars } from '../../support/services/kafka-libraries.ts';
import { freePort, processService, type Service } from '../../support/services/service.ts';
import { ROOT } from '../../support/source-files.ts';

const ENGINE = join(ROOT, 'node_modules/@chdb/lib-linux-x64-gnu/libchdb.so');
const SOURCE = fileURLToPath(new URL('./replica.c', import.meta.url));
const POM = fileURLToPath(new URL('./zookeeper-pom.xml', import.meta.url));
/** It runs statements from its command line, and ends after them. */
const LIFE_SECONDS = 7200;
/** Each table is opened before it listens. */
const START_MS_MAX = 300_000;
/** All run on one machine. */
const MEMORY_BYTES = 3_000_000_000;

/** ClickHouse with tables that replicate, and the native protocol for queries of the cluster. */
export interface Replica extends Service {
  readonly url: string;
}

/** The cluster of the configuration. */
export const CLUSTER = 'main';

export async function startZooKeeper(directory: string): Promise<Service> {
  const libraries = await jars('zookeeper-3.9.3', POM);
  const port = await freePort();
  const file = join(directory, 'zookeeper.cfg');
  const settings = {
    tickTime: 2000,
    dataDir: join(directory, 'zookeeper'),
    clientPort: port,
    clientPortAddress: '127.0.0.1',
    'admin.enableServer': false,
  };
  writeFileSync(
    file,
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  return processService({
    port,
    command: 'java',
    args: ['-Xmx256m', '-cp', `${libraries}/*`, 'org.apache.zookeeper.server.quorum.QuorumPeerMain', file],
    answers: () => accepts(port),
    remove: () => undefined,
  });
}

function accepts(port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(port, '127.0.0.1', () => resolve());
  socket.once('error', reject);
  return promise.finally(() => socket.destroy());
}

/** So many replicas of one shard. */
export async function startReplicas(directory: string, keeper: number, count: number): Promise<Replica[]> {
  const program = join(directory, 'replica');
  await promisify(execFile)('cc', ['-O1', '-o', program, SOURCE, '-ldl']);
  const ports: { http: number; tcp: number }[] = [];
  for (let i = 0; i < count; i++) ports.push({ http: await freePort(), tcp: await freePort() });
  const members = ports.map(({ tcp }) => `<replica><host>127.0.0.1</host><port>${tcp}</port></replica>`);
  return Promise.all(
    ports.map(async ({ http, tcp }, i) => {
      const home = join(directory, `replica${i}`);
      mkdirSync(home);
      const config = join(home, 'config.xml');
      writeFileSync(
        config,
        `<clickhouse>
          <listen_host>127.0.0.1</listen_host><listen_host>127.0.0.2</listen_host>
          <http_port>${http}</http_port><tcp_port>${tcp}</tcp_port>
          <max_server_memory_usage>${MEMORY_BYTES}</max_server_memory_usage><timezone>UTC</timezone>
          <zookeeper>
            <node><host>127.0.0.1</host><port>${keeper}</port></node>
            <sessions_path>/sessions/replica${i}</sessions_path>
          </zookeeper>
          <background_schedule_pool_size>32</background_schedule_pool_size>
          <macros><shard>only</shard><replica>replica${i}</replica></macros>
          <remote_servers><${CLUSTER}><shard>
            <internal_replication>true</internal_replication>${members.join('')}
          </shard></${CLUSTER}></remote_servers>
        </clickhouse>`,
      );
      const statements = [
        'SYSTEM START LISTEN HTTP',
        'SYSTEM START LISTEN TCP',
        `SELECT sleepEachRow(1) FROM numbers(${LIFE_SECONDS}) FORMAT Null SETTINGS max_block_size = 1`,
      ];
      const url = `http://127.0.0.1:${http}`;
      const service = await processService({
        port: http,
        command: program,
        args: [
          ENGINE,
          String(http),
          `--config-file=${config}`,
          `--path=${join(home, 'store')}`,
          `--logger.log=${join(home, 'log')}`,
          '--logger.level=warning',
          `--query=${statements.join('; ')}`,
        ],
        answers: async () => void (await fetch(`${url}/ping`)),
        remove: () => undefined,
        startMsMax: START_MS_MAX,
      });
      return { ...service, url };
    }),
  );
}
