import { vi } from 'vitest';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';
import { createAlertMetrics } from '../../../serve/alerts/composition/alert-metrics.ts';
import { type AlertDomain, openAlertDomain } from '../../../serve/alerts/composition/domain.ts';
import { until } from '../../infra/ports/opened.ts';
import { firing, prometheusBody } from './made.ts';
import { type Answered, type Person, Service, type Source } from './service.ts';

export const MINUTE = 60_000;

/** A service whose clock and whose checks of heartbeats the test moves. */
export class Beating {
  readonly service: Service;
  readonly ann: Person;
  readonly #clock: { now: number };

  private constructor(service: Service, ann: Person, clock: { now: number }) {
    this.service = service;
    this.ann = ann;
    this.#clock = clock;
  }

  static async open(): Promise<Beating> {
    const clock = { now: Date.UTC(2026, 10, 21) };
    // The server makes no checks of its own: the lock of one that runs would let those of the tests out.
    vi.useFakeTimers({ toFake: ['setInterval'] });
    const service = await Service.open({ LOG_LEVEL: 'fatal' }, { now: () => clock.now });
    vi.useRealTimers();
    return new Beating(service, await service.person('ann'), clock);
  }

  get now(): number {
    return this.#clock.now;
  }

  wait(minutes: number): void {
    this.#clock.now += minutes * MINUTE;
  }

  /** Waits as long, with a check after each minute. */
  async pass(minutes: number, { heartbeats }: AlertDomain): Promise<void> {
    for (let i = 0; i < minutes; i++) {
      this.wait(1);
      await heartbeats.check();
    }
  }

  /** Waits while servers check, without the minutes of `pass`. */
  async listen(minutes: number): Promise<void> {
    this.wait(minutes);
    const { keyValue } = this.service.pipeline.runtime;
    await keyValue.set('alerts/heartbeats-checked', String(this.now));
  }

  async source(fields: object = {}): Promise<Source> {
    const project = await this.service.project(this.ann);
    return this.service.source(this.ann, project, { heartbeat_minutes: 5, ...fields });
  }

  /** A server that shares the memory of the others, or one that starts when all had ended. */
  async server(isFirst: boolean): Promise<AlertDomain> {
    const { accounts } = this.service;
    const { config: settings, runtime } = this.service.pipeline;
    const keyValue = isFirst ? new EmbeddedKeyValue({ now: () => this.now }) : runtime.keyValue;
    const pipeline = await this.service.pipeline.alerts();
    const options = { accounts, pipeline, settings, publicUrl: () => '', metrics: createAlertMetrics() };
    return openAlertDomain({ ...options, runtime: { ...runtime, keyValue } });
  }

  api(method: 'GET' | 'PUT' | 'DELETE', { project }: Source, path: string, body?: object): Promise<Answered> {
    return this.service.api(this.ann, method, `/projects/${project}${path}`, body);
  }

  change(source: Source, fields: object): Promise<Answered> {
    return this.api('PUT', source, `/integrations/${source.id}`, fields);
  }

  /** The newest first. */
  async alerts(source: Source) {
    return (await this.api('GET', source, '/alerts')).body;
  }

  async heartbeats(source: Source): Promise<{ id: string; labels: string[]; last_beat_at: string }[]> {
    return (await this.api('GET', source, '/heartbeats')).body;
  }

  /** Sends an item of the Prometheus format, and waits until its beat is stored if it is one. */
  async fire(source: Source, labels: Record<string, string>, more: object = {}): Promise<Answered> {
    const fingerprint = Buffer.from(JSON.stringify(labels)).toString('hex').slice(-16);
    const answer = await this.service.send(
      source,
      prometheusBody([firing({ labels, fingerprint, ...more })]),
    );
    const isBeat = Object.keys(more).length === 0 && labels.alertname === 'Watchdog';
    if (isBeat) await this.untilStored(source, Object.values(labels).join());
    return answer;
  }

  /** Waits until a beat of the present time is stored, whose labels have these values; those of every request have none. */
  untilStored(source: Source, values: string): Promise<void> {
    const at = new Date(this.now).toISOString();
    return until(`the beat ${values} is stored`, async () => {
      const found = await this.heartbeats(source);
      return found.some(
        ({ labels, last_beat_at }) =>
          labels.map((label) => label.slice(label.indexOf('=') + 1)).join() === values && last_beat_at === at,
      );
    });
  }

  close(): Promise<void> {
    return this.service.close();
  }
}
