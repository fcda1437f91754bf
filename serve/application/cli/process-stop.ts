import type { FastifyBaseLogger } from 'fastify';
import type { ProcessHealth } from '../../http/process-health.ts';
import type { Config } from '../../settings/settings.ts';
import { killSelf } from './failure.ts';

/**
 * Closes everything that was opened, in reverse, when a signal arrives; kills the process when that takes too long. The
 * process is not ready at once, and a server answers for a while: load balancers have to notice first.
 */
export class ProcessStop {
  readonly #settings: Pick<Config, 'STOP_SECONDS_MAX' | 'STOP_DELAY_SECONDS'>;
  readonly #closers: (() => Promise<unknown>)[] = [];
  readonly #ended = Promise.withResolvers<void>();
  #isAsked = false;
  log: FastifyBaseLogger | null = null;
  health: ProcessHealth | null = null;
  readonly #isServer: boolean;

  /** Others send requests to a process that is a server, and have to notice that it stops. */
  constructor(settings: Pick<Config, 'STOP_SECONDS_MAX' | 'STOP_DELAY_SECONDS'>, isServer: boolean) {
    this.#settings = settings;
    this.#isServer = isServer;
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => this.ask(signal));
  }

  /** Whether the process was asked to stop. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  /** Resolves when everything is closed after the process was asked to stop. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  first(close: () => Promise<unknown>): void {
    this.#closers.unshift(close);
  }

  last(close: () => Promise<unknown>): void {
    this.#closers.push(close);
  }

  /** Closes all of it; throws the first failure then. */
  async now(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.shift(); close; close = this.#closers.shift()) {
      await close().catch((error) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }

  ask(reason: string): void {
    // Ctrl-C reaches every process of a terminal, and wrappers forward it: the same signal may arrive twice.
    if (this.#isAsked) return;
    this.#isAsked = true;
    const { STOP_SECONDS_MAX, STOP_DELAY_SECONDS } = this.#settings;
    const isAnswering = this.#isServer && this.health?.hasStarted;
    const delayMs = isAnswering ? STOP_DELAY_SECONDS * 1000 : 0;
    this.health?.markStopping();
    this.log?.info({ reason }, 'stopping');
    const kill = () => {
      process.stderr.write(
        `chain-metrics: did not stop within STOP_SECONDS_MAX=${STOP_SECONDS_MAX}; what was acknowledged is safe\n\n`,
      );
      killSelf();
    };
    setTimeout(kill, delayMs + STOP_SECONDS_MAX * 1000).unref();
    setTimeout(() => void this.now().then(this.#ended.resolve, this.#ended.reject), delayMs);
  }
}
