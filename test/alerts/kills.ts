import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Alert } from '../../aggregate/alerts/alert.ts';
import { ALERTS_TOPIC, type EventHead } from '../../aggregate/alerts/delivery.ts';
import { alertEvents, alerts } from '../../aggregate/alerts/tables.ts';
import { Engine } from '../../aggregate/engine.ts';
import { readConfig } from '../../infra/config.ts';
import { sql } from '../../infra/kernel/sql.ts';
import { temporaryDirectory } from '../support/engine.ts';
import { Random } from '../support/random.ts';
import { madeBody, madeName } from './made.ts';
import { type ReferenceAlert, type ReferenceEvent, replay } from './reference.ts';

const SERVER = fileURLToPath(new URL('killed-server.ts', import.meta.url));
const WINDOWS = { retryMs: 2000, namedMs: 3_600_000 };

export interface Faults {
  readonly deliveries: number;
  readonly kills: number;
  readonly senders: number;
  readonly seed: number;
}

export interface Outcome {
  readonly kills: number;
  readonly attempts: number;
  readonly acknowledged: number;
  readonly stored: number;
  readonly alerts: number;
  readonly faults: readonly string[];
}

interface Facts {
  readonly project: number;
  readonly token: string;
  readonly sources: readonly { readonly id: string; readonly path: string; readonly key: string }[];
}

/** What happened to the attempts that carry the same mark: how many there were, and what the answered ones said. */
interface Attempts {
  made: number;
  readonly told: string[];
}

/**
 * Many senders deliver at the same time, each again until it is answered with 200, some a second time after that,
 * while people change statuses and the server is killed at any moment. Then what is stored is compared with a slow
 * reference that is given the accepted events.
 */
export async function deliverUnderKills(
  faults: Faults,
  onProgress: (done: number, kills: number) => void = () => {},
): Promise<Outcome> {
  using directory = temporaryDirectory();
  const server = new KilledServer(directory.path);
  await server.start();
  const facts = JSON.parse(readFileSync(server.factsFile, 'utf8')) as Facts;
  const marks = new Map<string, Attempts>();
  let attempts = 0;
  let done = 0;
  let isOver = false;

  const sender = async (index: number) => {
    const random = new Random(faults.seed * 1000 + index);
    while (done < faults.deliveries) {
      const number = ++done;
      if (random.chance(0.05)) await server.change(facts, random);
      const body = madeBody(random);
      const name = madeName(random);
      const source = facts.sources[number % facts.sources.length] as Facts['sources'][number];
      // Now and then an answer is lost although the delivery was taken: it comes once more.
      for (let left = random.chance(0.1) ? 2 : 1; left > 0; ) {
        attempts++;
        // A named delivery is sent again as it was, any other is told apart by its attempt.
        const mark = name === '' ? `attempt ${attempts}` : `delivery ${number}`;
        const of = marks.get(mark) ?? { made: 0, told: [] };
        marks.set(mark, of);
        of.made++;
        const created = await server.send(source, { ...body, mark }, name);
        if (created === null) continue;
        of.told.push(String(created));
        left--;
      }
    }
  };
  const killer = async () => {
    const random = new Random(faults.seed);
    const share = faults.deliveries / (faults.kills + 1);
    for (let kill = 1; kill <= faults.kills && !isOver; ) {
      onProgress(done, server.kills);
      if (done < kill * share) {
        await pause(random.whole(1, 20));
        continue;
      }
      await pause(random.whole(0, 100));
      await server.kill();
      kill++;
    }
  };
  const killing = killer();
  await Promise.all(Array.from({ length: faults.senders }, (_, i) => sender(i)));
  isOver = true;
  await killing;
  // The last one also dies: what it had not written is written by whoever comes next.
  await server.end();
  return { kills: server.kills, attempts, ...(await compare(server, facts, marks)) };
}

class KilledServer {
  readonly directory: string;
  readonly factsFile: string;
  #child: ChildProcess | undefined;
  #port = 0;
  kills = 0;

  constructor(directory: string) {
    this.directory = join(directory, 'data');
    this.factsFile = join(directory, 'facts.json');
  }

  get env(): Record<string, string> {
    return {
      DATA_DIR: this.directory,
      LOG_LEVEL: 'fatal',
      ALERT_RETRY_WINDOW_SECONDS: String(WINDOWS.retryMs / 1000),
      ALERT_IDEMPOTENCY_HOURS: '1',
      ALERT_OPEN_CACHED: '5',
    };
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [SERVER, this.factsFile, String(this.#port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, UV_THREADPOOL_SIZE: '16', TZ: 'UTC', ...this.env },
    });
    this.#child = child;
    for await (const line of createInterface({ input: child.stdout as NonNullable<typeof child.stdout> })) {
      const [, port] = /^port (\d+)$/.exec(line) ?? [];
      if (port === undefined) continue;
      this.#port = Number(port);
      return;
    }
    throw new Error('the server did not start');
  }

  async kill(): Promise<void> {
    await this.end();
    await this.start();
  }

  async end(): Promise<void> {
    const child = this.#child as ChildProcess;
    const closed = once(child, 'exit');
    child.kill('SIGKILL');
    await closed;
    this.kills++;
  }

  /** Numbers of the alerts that a delivery created; null when nobody answered that it was taken. */
  async send(source: Facts['sources'][number], body: object, name: string): Promise<number[] | null> {
    const headers: Record<string, string> = {
      authorization: `Bearer ${source.key}`,
      'content-type': 'application/json',
    };
    if (name !== '') headers['idempotency-key'] = name;
    const reply = await this.#call(source.path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (reply === null) return null;
    if (reply.status === 503) {
      await pause(20);
      return null;
    }
    if (reply.status !== 200) throw new Error(`answered with ${reply.status}: ${reply.text}`);
    return (JSON.parse(reply.text) as { iid: number }[]).map(({ iid }) => iid);
  }

  async change({ project, token }: Facts, random: Random): Promise<void> {
    const iid = random.whole(1, 60);
    const status = random.pick(['triggered', 'acknowledged', 'resolved', 'ignored']);
    await this.#call(`/api/v4/projects/${project}/alerts/${iid}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ status }),
    });
  }

  async #call(path: string, init: RequestInit): Promise<{ status: number; text: string } | null> {
    try {
      const reply = await fetch(`http://127.0.0.1:${this.#port}${path}`, init);
      return { status: reply.status, text: await reply.text() };
    } catch {
      await pause(10);
      return null;
    }
  }
}

const COMPARED = [
  'iid',
  'title',
  'severity',
  'status',
  'events',
  'created_ms',
  'seen_ms',
  'ended_ms',
  'acknowledged_ms',
] as const satisfies readonly (keyof ReferenceAlert & keyof Alert)[];

async function compare(
  server: KilledServer,
  { project }: Facts,
  marks: ReadonlyMap<string, Attempts>,
): Promise<Omit<Outcome, 'kills' | 'attempts'>> {
  // The rules that the server had: what it left undecided is decided on by them.
  const engine = await Engine.open(readConfig(server.env));
  try {
    await engine.alerts();
    // What the log still held is decided on in the background.
    await engine.runtime.log.settle(ALERTS_TOPIC, 'grouping');
    await (await engine.alerts()).settle();
    const rows = await engine.runtime.store.rows<StoredRow>(
      sql`SELECT position, id, head, body, iids, outcomes FROM ${alertEvents} FINAL
        WHERE project = ${project} ORDER BY position`,
    );
    const stored = await engine.runtime.store.rows<Alert>(
      sql`SELECT * FROM ${alerts} FINAL WHERE project = ${project} ORDER BY iid`,
    );
    const expected = replay(rows.map(eventOf), WINDOWS);
    return {
      acknowledged: [...marks.values()].reduce((sum, { told }) => sum + told.length, 0),
      stored: rows.length,
      alerts: stored.length,
      faults: [...orderFaults(rows), ...lostOrTwice(rows, marks), ...differing(stored, expected)],
    };
  } finally {
    await engine.close();
  }
}

interface StoredRow {
  readonly position: number;
  readonly id: string;
  readonly head: string;
  readonly body: string;
  readonly iids: readonly number[];
  readonly outcomes: readonly string[];
}

function eventOf({ head, body }: StoredRow): ReferenceEvent {
  const event = JSON.parse(head) as EventHead;
  if (event.kind === 'action') {
    const action = { iid: event.iid, status: event.change.status ?? '' };
    return { at: event.at, integration: '', idempotencyKey: '', body: '', action };
  }
  return { at: event.at, integration: event.integration, idempotencyKey: event.idempotency_key, body };
}

/** Positions are numbered from 1 without gaps, and no event is there twice. */
function orderFaults(rows: readonly StoredRow[]): string[] {
  const gap = rows.findIndex(({ position }, i) => position !== i + 1);
  const twice = rows.length - new Set(rows.map(({ id }) => id)).size;
  return [
    ...(gap === -1 ? [] : [`position ${rows[gap]?.position} stands where ${gap + 1} should`]),
    ...(twice === 0 ? [] : [`${twice} events are stored twice`]),
  ];
}

/** Every attempt that was answered with 200 is stored once, with what the answer said; none is stored twice. */
function lostOrTwice(rows: readonly StoredRow[], marks: ReadonlyMap<string, Attempts>): string[] {
  const found = new Map<string, string[]>();
  for (const { body, iids, outcomes } of rows) {
    if (body === '') continue;
    const { mark } = JSON.parse(body) as { mark: string };
    const created = iids.filter((_, i) => outcomes[i] === 'created');
    found.set(mark, [...(found.get(mark) ?? []), String(created)]);
  }
  return [...marks].flatMap(([mark, { made, told }]) => {
    const [first = '', ...others] = found.get(mark) ?? [];
    const times = found.has(mark) ? others.length + 1 : 0;
    if (times < told.length)
      return [`${mark} was acknowledged ${told.length} times and is stored ${times} times`];
    if (times > made) return [`${mark} was sent ${made} times and is stored ${times} times`];
    const wrong = told.find((created) => created !== first);
    return wrong === undefined ? [] : [`${mark} was told ${wrong}, stored is ${first}`];
  });
}

function differing(stored: readonly Alert[], expected: readonly ReferenceAlert[]): string[] {
  const faults =
    stored.length === expected.length ? [] : [`${stored.length} alerts, expected ${expected.length}`];
  expected.forEach((alert, i) => {
    for (const name of COMPARED) {
      if (stored[i]?.[name] !== alert[name]) {
        faults.push(`alert ${alert.iid}: ${name} is ${stored[i]?.[name]}, expected ${alert[name]}`);
      }
    }
  });
  return faults.slice(0, 20);
}
