import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Place, placeOfKills } from '../../support/power-cut.ts';
import type { Target } from './senders.ts';

const SERVER = fileURLToPath(new URL('killed-server.ts', import.meta.url));

export interface ServerFacts {
  readonly token: string;
  readonly targets: readonly Target[];
}

/** A server in a process of its own, which can be killed and started again on its data. */
export class KilledServer {
  readonly directory: string;
  readonly factsFile: string;
  readonly env: Record<string, string>;
  readonly #place: Place;
  #child: ChildProcess | undefined;
  #said = '';
  #port = 0;
  kills = 0;

  constructor(directory: string, settings: Record<string, string>, place = placeOfKills(directory)) {
    this.#place = place;
    this.directory = join(place.path, 'data');
    this.env = { DATA_DIR: this.directory, LOG_LEVEL: 'fatal', ...settings };
    this.factsFile = join(directory, 'facts.json');
  }

  get address(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The token of a user, and the integrations of the user's project. */
  get facts(): ServerFacts {
    return JSON.parse(readFileSync(this.factsFile, 'utf8')) as ServerFacts;
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
    await this.#place.end(child);
    await closed;
    this.#place.restart();
    this.kills++;
  }
}
