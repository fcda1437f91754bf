import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';

export interface RecordedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: each format has its own body
  readonly body: any;
}

export interface RecordedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A receiver of JSON in any format, which answers as a test wants. */
export class Recorder {
  readonly requests: RecordedRequest[] = [];
  answer: RecordedAnswer;
  readonly #server: Server;

  private constructor(answer: RecordedAnswer) {
    this.answer = answer;
    this.#server = createServer((request, reply) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const { url: path = '', headers } = request;
        this.requests.push({ path, headers, text, body: JSON.parse(text) });
        const { status, headers: own = {}, body } = this.answer;
        reply.writeHead(status, own).end(body);
      });
    });
  }

  static async open(answer: RecordedAnswer = { status: 200 }): Promise<Recorder> {
    const recorder = new Recorder(answer);
    recorder.#server.listen(0, '127.0.0.1');
    await once(recorder.#server, 'listening');
    return recorder;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  /** The newest request. */
  get last(): RecordedRequest {
    const last = this.requests.at(-1);
    if (last === undefined) throw new Error('nothing was received');
    return last;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
