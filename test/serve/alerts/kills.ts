import { setTimeout as pause } from 'node:timers/promises';
import { ALERTS_TOPIC } from '../../../aggregate/alerts/model/event.ts';
import { Random } from '../../../ingest/demo/random.ts';
import { openPipeline } from '../../../serve/application/compose/compose.ts';
import { placeIn } from '../../support/power-cut.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { testConfig } from '../../support/test-config.ts';
import { judge, type Verdict } from './accepted.ts';
import { Senders } from './senders.ts';
import { KilledServer } from './server-to-kill.ts';

const WINDOWS = { retryMs: 2000, namedMs: 3_600_000 };
/** Results must not be late on a busy machine, since they are compared with the stored ones. */
const SETTINGS = {
  ALERT_RETRY_WINDOW_SECONDS: String(WINDOWS.retryMs / 1000),
  ALERT_IDEMPOTENCY_HOURS: '1',
  ALERT_CACHE_BYTES: '20000',
  ALERT_ANSWER_SECONDS_MAX: '60',
};

export interface Faults {
  readonly deliveries: number;
  readonly kills: number;
  readonly senders: number;
  readonly seed: number;
  /** The file system whose power is cut instead; the writes of the server are forced to its disk then. */
  readonly powerCutsOn?: string;
}

export interface Outcome extends Verdict {
  readonly kills: number;
  readonly attempts: number;
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
  using place = placeIn(directory.path, faults.powerCutsOn);
  const settings = { ...SETTINGS, STORE_FSYNC: String(place.isForced) };
  const server = new KilledServer(directory.path, settings, place);
  await server.start();
  const { token, targets } = server.facts;
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
  const pipeline = await openPipeline(testConfig(server.env));
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
