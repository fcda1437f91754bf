import { Gauge } from 'prom-client';
import { ProductError } from '../../infra/errors.ts';
import type { Service } from '../../infra/ports.ts';

type Stage = 'starting' | 'started' | 'stopping';

/** Prometheus metrics of the readiness checks. */
export const createServiceMetrics = () => ({
  services: new Gauge({
    name: 'chain_metrics_service_up',
    help: 'Whether a service that the process needs answered its newest check (store, log, key_value): 1 or 0.',
    labelNames: ['service'],
    registers: [],
  }),
});

type ServiceMetrics = ReturnType<typeof createServiceMetrics>;

const LABELS: Readonly<Record<Service, string>> = { store: 'store', log: 'log', keyValue: 'key_value' };

/** Notes what the checks of services find. */
export const noteService =
  ({ services }: ServiceMetrics) =>
  (service: Service, answered: boolean): void =>
    services.set({ service: LABELS[service] }, answered ? 1 : 0);

/** What the probes of a process tell: it has started, and it can do the work of its roles. */
export class ProcessHealth {
  readonly #checks: (() => void | Promise<void>)[];
  readonly #isDamaged: () => boolean;
  #stage: Stage = 'starting';
  #waitsFor: string | null = null;

  constructor(check: () => Promise<void>, isDamaged: () => boolean) {
    this.#checks = [check];
    this.#isDamaged = isDamaged;
  }

  /** Adds a check that throws while the process is not ready. */
  require(check: () => void): void {
    this.#checks.push(check);
  }

  /** Tells what a start waits for, of which the log says why; null for nothing more. */
  waitsFor(what: string | null): void {
    this.#waitsFor = what;
  }

  started(): void {
    if (this.#stage === 'starting') this.#stage = 'started';
  }

  /** Not ready from now on: load balancers choose another process while this one ends. */
  stopping(): void {
    this.#stage = 'stopping';
  }

  get hasStarted(): boolean {
    return this.#stage !== 'starting';
  }

  /** Stored data were found damaged. No restart heals them, and everything else is still served. */
  get isDamaged(): boolean {
    return this.#isDamaged();
  }

  /** Throws, with a text that callers may read, unless the process can work. */
  async checkReady(): Promise<void> {
    if (this.#stage !== 'started') throw new ProductError('service_unreachable', this.#unready());
    for (const check of this.#checks) await check();
  }

  #unready(): string {
    if (this.#stage === 'stopping' || this.#waitsFor === null) return `the process is ${this.#stage}`;
    return `the process waits for ${this.#waitsFor}, and its log says why`;
  }
}
