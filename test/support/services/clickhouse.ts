import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { containerService, hasImage } from './container.ts';
import { freePort, processService, type Service } from './service.ts';

const { CLICKHOUSE_IMAGE = 'clickhouse/clickhouse-server:26.3' } = process.env;
const FRONT = fileURLToPath(new URL('../clickhouse/front.ts', import.meta.url));

export interface ClickHouseOptions {
  readonly user?: string;
  readonly password?: string;
  readonly directory?: string;
  /** Configuration of the engine in process, which is then used in any case. */
  readonly config?: string;
}

/** A ClickHouse over HTTP: the official server where Docker works, else its interface over the engine in process. */
export async function startClickHouse({
  user = 'default',
  password = '',
  directory = mkdtempSync(join(tmpdir(), 'chain-metrics-clickhouse-')),
  config = '',
}: ClickHouseOptions = {}): Promise<Service> {
  if (config === '' && (await hasImage(CLICKHOUSE_IMAGE))) {
    return containerService({
      image: CLICKHOUSE_IMAGE,
      innerPort: 8123,
      env: {
        CLICKHOUSE_USER: user,
        CLICKHOUSE_PASSWORD: password,
        CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT: '1',
        ...(password ? {} : { CLICKHOUSE_SKIP_USER_SETUP: '1' }),
      },
      answers,
    });
  }
  const port = await freePort();
  return processService({
    port,
    command: process.execPath,
    args: [FRONT],
    env: {
      UV_THREADPOOL_SIZE: '24',
      FRONT_PORT: String(port),
      FRONT_DATA: directory,
      FRONT_CONFIG: config,
      FRONT_TIED: 'yes',
      CLICKHOUSE_USER: user,
      CLICKHOUSE_PASSWORD: password,
    },
    answers: () => answers(port),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  });
}

async function answers(port: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/ping`);
  if (!answer.ok) throw new Error(await answer.text());
}
