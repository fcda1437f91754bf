import type { FastifyBaseLogger } from 'fastify';
import type { ProcessHealth } from '../../http/process-health.ts';
import type { Config } from '../../settings/settings.ts';
import { killSelf } from './failure.ts';

/**
 * Stops a process after a signal. It becomes not ready immediately; a server keeps answering for STOP_DELAY_SECONDS, so that
 * load balancers notice. Then the closers run, and after STOP_SECONDS_MAX the process is killed.
 */
export class ProcessStop {
  readonly #settings: Pick<Config, 'STOP_SECONDS_MAX' | 'STOP_DELAY_SECONDS'>;
  readonly #closers: (() => Promise<unknown>)[] = [];
  readonly #ended = Promise.withResolvers<void>();
  #isRequested = false;
  log: FastifyBaseLogger | null = null;
  health: ProcessHealth | null = null;
  readonly #isServer: boolean;

  constructor(settings: Pick<Config, 'STOP_SECONDS_MAX' | 'STOP_DELAY_SECONDS'>, isServer: boolean) {
    this.#settings = settings;
    this.#isServer = isServer;
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => this.request(signal));
  }

  get isRequested(): boolean {
    return this.#isRequested;
  }

  /** Resolves if everything is closed after a request. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Adds a closer that runs before all earlier closers. */
  addFirst(close: () => Promise<unknown>): void {
    this.#closers.unshift(close);
  }

  addLast(close: () => Promise<unknown>): void {
    this.#closers.push(close);
  }

  /** Runs all closers, then throws the first failure. */
  async closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.shift(); close; close = this.#closers.shift()) {
      await close().catch((error) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }

  request(reason: string): void {
    // Ctrl-C reaches every process of a terminal, and wrappers forward it: the same signal may arrive twice.
    if (this.#isRequested) return;
    this.#isRequested = true;
    const { STOP_SECONDS_MAX, STOP_DELAY_SECONDS } = this.#settings;
    const isAnswering = this.#isServer && this.health?.hasStarted;
    const delayMs = isAnswering ? STOP_DELAY_SECONDS * 1000 : 0;
    this.health?.markStopping();
    this.log?.info({ reason }, 'stopping');
    const kill = () => {
      process.stderr.write(
        `chain-metrics: killed, because it did not stop within STOP_SECONDS_MAX=${STOP_SECONDS_MAX}; acknowledged data are safe\n\n`,
      );
      killSelf();
    };
    setTimeout(kill, delayMs + STOP_SECONDS_MAX * 1000).unref();
    setTimeout(() => void this.closeAll().then(this.#ended.resolve, this.#ended.reject), delayMs);
  }
}
