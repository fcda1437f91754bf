import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

export interface ReceivedRequest {
  readonly event: string;
  readonly delivery: string;
  /** '' where nothing is traced. */
  readonly traceparent: string;
  // biome-ignore lint/suspicious/noExplicitAny: what was sent is checked field by field
  readonly alert: any;
}

/** Status to answer with; null to hang until the receiver is closed or released. */
export type Answer = (request: ReceivedRequest) => number | null;

/** A receiver of webhooks that answers as a test wants. */
export class Receiver {
  /** Every request, also those that were not accepted. */
  readonly requests: ReceivedRequest[] = [];
  readonly accepted: ReceivedRequest[] = [];
  answer: Answer;
  readonly #server: Server;

  private constructor(answer: Answer) {
    this.answer = answer;
    this.#server = createServer((request, reply) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const header = (name: string) => String(request.headers[`x-chain-metrics-${name}`] ?? '');
        const traceparent = String(request.headers.traceparent ?? '');
        const alert = JSON.parse(Buffer.concat(chunks).toString()).object_attributes;
        const received = { event: header('event'), delivery: header('delivery'), traceparent, alert };
        this.requests.push(received);
        const status = this.answer(received);
        if (status === null) return;
        if (status < 300) this.accepted.push(received);
        reply.writeHead(status).end();
      });
    });
  }

  static async open(answer: Answer = () => 200): Promise<Receiver> {
    const receiver = new Receiver(answer);
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}/hook`;
  }

  /** Ends all connections, also those of requests that hang. */
  release(): void {
    this.#server.closeAllConnections();
  }

  close(): void {
    this.release();
    this.#server.close();
  }
}
