import { Gauge } from 'prom-client';
import { ProductError } from '../../infra/errors.ts';
import type { Service } from '../../infra/ports.ts';

type Stage = 'starting' | 'started' | 'stopping';

/** Prometheus metrics of the readiness checks. */
export const createServiceMetrics = () => ({
  services: new Gauge({
    name: 'chain_metrics_service_up',
    help: '1 if a required service (store, log, key_value) answered the latest health check, otherwise 0.',
    labelNames: ['service'],
    registers: [],
  }),
});

type ServiceMetrics = ReturnType<typeof createServiceMetrics>;

const LABELS: Readonly<Record<Service, string>> = { store: 'store', log: 'log', keyValue: 'key_value' };

/** Records the result of a service check. */
export const recordServiceCheck =
  ({ services }: ServiceMetrics) =>
  (service: Service, answered: boolean): void =>
    services.set({ service: LABELS[service] }, answered ? 1 : 0);

/** State behind the health probes: whether the process has started, and whether it can serve its roles. */
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
  addCheck(check: () => void): void {
    this.#checks.push(check);
  }

  /** Sets what the startup waits for; null if it waits for nothing. The log has the reason. */
  setWaitsFor(what: string | null): void {
    this.#waitsFor = what;
  }

  markStarted(): void {
    if (this.#stage === 'starting') this.#stage = 'started';
  }

  /** Makes the process not ready, so that load balancers choose another one. */
  markStopping(): void {
    this.#stage = 'stopping';
  }

  get hasStarted(): boolean {
    return this.#stage !== 'starting';
  }

  /** True if damaged stored data were found. A restart does not help, and all other data are still served. */
  get isDamaged(): boolean {
    return this.#isDamaged();
  }

  /** Throws an error with a public text if the process is not ready. */
  async checkReady(): Promise<void> {
    if (this.#stage !== 'started') throw new ProductError('service_unreachable', this.#unready());
    for (const check of this.#checks) await check();
  }

  #unready(): string {
    if (this.#stage === 'stopping' || this.#waitsFor === null) return `the process is ${this.#stage}`;
    return `the process waits for ${this.#waitsFor}; see its log for the reason`;
  }
}
