import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Person, Service, Source } from '../service.ts';

export interface ReceivedPage {
  readonly at: number;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: what was sent is checked field by field
  readonly body: any;
}

/** A receiver of messages of pages. It answers as a test wants. */
export class PageReceiver {
  /** What was accepted. */
  readonly received: ReceivedPage[] = [];
  /** Status of the next answer. */
  answer: () => number = () => 200;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, reply) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString());
        const status = this.answer();
        if (status < 300) this.received.push({ at: Date.now(), headers: request.headers, body });
        reply.writeHead(status).end('{}');
      });
    });
  }

  static async open(): Promise<PageReceiver> {
    const receiver = new PageReceiver();
    await new Promise<void>((done) => receiver.#server.listen(0, '127.0.0.1', done));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/page`;
  }

  get events(): string[] {
    return this.received.map(({ body }) => body.event);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** A project whose alerts go to a channel by one policy. */
export class Team {
  readonly service: Service;
  readonly owner: Person;
  readonly source: Source;
  readonly policy: string;

  private constructor(service: Service, owner: Person, source: Source, policy: string) {
    this.service = service;
    this.owner = owner;
    this.source = source;
    this.policy = policy;
  }

  /** Steps as the API takes them; a text stands for the channel at that URL. */
  static async open(
    service: Service,
    owner: Person,
    { steps, delaySeconds = 0, ...more }: { steps: readonly Step[]; delaySeconds?: number } & object,
  ): Promise<Team> {
    const project = await service.project(owner);
    const source = await service.source(owner, project);
    const channels = new Map<string, string>();
    for (const url of new Set(steps.flatMap(({ channels: urls }) => urls))) {
      const body = { name: url, type: 'webhook', settings: { url } };
      const made = await service.api(owner, 'POST', `/projects/${project}/notification_channels`, body);
      if (made.status !== 201) throw new Error(JSON.stringify(made.body));
      channels.set(url, made.body.id);
    }
    const made = await service.api(owner, 'POST', `/projects/${project}/escalation_policies`, {
      name: 'Ops',
      steps: steps.map(({ channels: urls, users = [], delay_minutes = 5 }) => ({
        targets: [
          ...urls.map((url) => ({ type: 'channel', id: channels.get(url) })),
          ...users.map((id) => ({ type: 'user', id })),
        ],
        delay_minutes,
        important: false,
      })),
      ...more,
    });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    const routes = [{ name: 'default', policy_id: made.body.id, delay_seconds: delaySeconds }];
    const set = await service.api(owner, 'PUT', `/projects/${project}/alert_routes`, routes);
    if (set.status !== 200) throw new Error(JSON.stringify(set.body));
    return new Team(service, owner, source, made.body.id);
  }

  get project(): number {
    return this.source.project;
  }

  /** Pages, notifications and the log of an alert. */
  async pagesOf(iid: number) {
    return (await this.service.api(this.owner, 'GET', `/projects/${this.project}/alerts/${iid}/pages`)).body;
  }

  setStatus(iid: number, status: string) {
    return this.service.api(this.owner, 'PUT', `/projects/${this.project}/alerts/${iid}`, { status });
  }
}

interface Step {
  readonly channels: readonly string[];
  readonly users?: readonly string[];
  readonly delay_minutes?: number;
}
