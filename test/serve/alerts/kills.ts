import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ALERTS_TOPIC } from '../../../aggregate/alerts/model/event.ts';
import { openPipeline } from '../../../serve/compose.ts';
import { readConfig } from '../../../serve/settings.ts';
import { Random } from '../../support/random.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { judge, type Verdict } from './accepted.ts';
import { Senders, type Target } from './senders.ts';

const SERVER = fileURLToPath(new URL('killed-server.ts', import.meta.url));
const WINDOWS = { retryMs: 2000, namedMs: 3_600_000 };

export interface Faults {
  readonly deliveries: number;
  readonly kills: number;
  readonly senders: number;
  readonly seed: number;
}

export interface Outcome extends Verdict {
  readonly kills: number;
  readonly attempts: number;
}

interface Facts {
  readonly token: string;
  readonly targets: readonly Target[];
}

const TIMEOUT_MS = 60_000;

/**
 * Many senders deliver and change statuses while the server is killed at random moments. Then the stored alerts are
 * compared with the slow reference.
 */
export async function deliverUnderKills(
  faults: Faults,
  onProgress: (done: number, kills: number) => void = () => {},
): Promise<Outcome> {
  using directory = temporaryDirectory();
  const server = new KilledServer(directory.path);
  await server.start();
  const { token, targets } = JSON.parse(readFileSync(server.factsFile, 'utf8')) as Facts;
  const senders = new Senders({
    address: () => server.address,
    targets,
    token,
    senders: faults.senders,
    seed: faults.seed,
    timeoutMs: TIMEOUT_MS,
  });
  const killer = async () => {
    const random = new Random(faults.seed);
    const share = faults.deliveries / (faults.kills + 1);
    for (let kill = 1; kill <= faults.kills && senders.done < faults.deliveries; ) {
      onProgress(senders.done, server.kills);
      if (senders.done < kill * share) {
        await pause(random.whole(1, 20));
        continue;
      }
      await pause(random.whole(0, 100));
      await server.kill();
      kill++;
    }
  };
  let isBroken = false;
  const killing = killer().catch((error) => {
    isBroken = true;
    throw error;
  });
  await Promise.all([killing, senders.run(() => !isBroken && senders.done < faults.deliveries)]);
  // The last server is killed too; the next process writes what it had not written.
  await server.end();
  const projects = [...new Set(targets.map(({ project }) => project))];
  const verdict = await verdictOf(server, projects, senders.marks);
  return { kills: server.kills, attempts: senders.attempts, ...verdict };
}

async function verdictOf(
  server: KilledServer,
  projects: readonly number[],
  marks: Senders['marks'],
): Promise<Verdict> {
  // The settings of the server, by which the remaining events are decided.
  const pipeline = await openPipeline(readConfig(server.env));
  try {
    await pipeline.alerts();
    // The remaining records of the log are processed in the background.
    await pipeline.runtime.log.waitUntilConsumed(ALERTS_TOPIC, 'grouping');
    await (await pipeline.alerts()).waitUntilWritten();
    return await judge(pipeline.runtime.store, projects, marks, WINDOWS);
  } finally {
    await pipeline.close();
  }
}

class KilledServer {
  readonly directory: string;
  readonly factsFile: string;
  #child: ChildProcess | undefined;
  #said = '';
  #port = 0;
  kills = 0;

  constructor(directory: string) {
    this.directory = join(directory, 'data');
    this.factsFile = join(directory, 'facts.json');
  }

  get address(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get env(): Record<string, string> {
    return {
      DATA_DIR: this.directory,
      LOG_LEVEL: 'fatal',
      ALERT_RETRY_WINDOW_SECONDS: String(WINDOWS.retryMs / 1000),
      ALERT_IDEMPOTENCY_HOURS: '1',
      ALERT_OPEN_CACHED: '5',
      // Results must not be late on a busy machine, since they are compared with the stored ones.
      ALERT_ANSWER_SECONDS_MAX: '60',
    };
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [SERVER, this.factsFile, String(this.#port)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, UV_THREADPOOL_SIZE: '16', TZ: 'UTC', ...this.env },
    });
    this.#child = child;
    child.stderr?.on('data', (text) => {
      this.#said = `${this.#said}${text}`.slice(-2000);
    });
    for await (const line of createInterface({ input: child.stdout as NonNullable<typeof child.stdout> })) {
      const [, port] = /^port (\d+)$/.exec(line) ?? [];
      if (port === undefined) continue;
      this.#port = Number(port);
      return;
    }
    throw new Error(`the server did not start: ${this.#said}`);
  }

  async kill(): Promise<void> {
    await this.end();
    await this.start();
  }

  async end(): Promise<void> {
    const child = this.#child as ChildProcess;
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`the server exited by itself (${child.exitCode ?? child.signalCode}): ${this.#said}`);
    }
    const closed = once(child, 'exit');
    child.kill('SIGKILL');
    await closed;
    this.kills++;
  }
}
