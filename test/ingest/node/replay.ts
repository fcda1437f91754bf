import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { NewMethods } from './new-methods.ts';
import { ReplayError, type ReplayedChain } from './replayed-chain.ts';

export interface ReplayCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A node on loopback, over HTTP and WebSocket, with faults on demand. */
export class NodeReplay {
  readonly chain: ReplayedChain;
  /** Calls of the requests so far. */
  readonly requests: (readonly ReplayCall[])[] = [];
  /** More calls of a batch are refused. */
  batchMax = Number.POSITIVE_INFINITY;
  /** Answers are cut after so many bytes. */
  bytesMax = Number.POSITIVE_INFINITY;
  /** Requests that are left without an answer from now on. */
  silences = 0;
  /** Requests whose connection is closed from now on. */
  drops = 0;
  /** Events of subscriptions after which the connection is lost. */
  eventsMax = Number.POSITIVE_INFINITY;
  /** Which groups of methods are answered. */
  methods: 'legacy' | 'both' | 'new' = 'legacy';
  /** What a call is answered with in place of the chain's answer; undefined for none. */
  answerInstead: (call: ReplayCall) => unknown = () => undefined;
  readonly #server = createServer(async (request, response) => {
    const answer = this.#answer((await request.toArray()).join(''));
    if (answer === 'drop') response.destroy();
    else if (answer !== 'silence') response.end(answer);
  });
  readonly #sockets = new WebSocketServer({ server: this.#server });
  /** JSON of answers, so that a replay costs little. */
  readonly #texts = new Map<string, string>();

  constructor(chain: ReplayedChain) {
    this.chain = chain;
    this.#sockets.on('connection', (socket: WebSocket) => {
      socket.on('message', (data: Buffer) => {
        const answer = this.#answer(data.toString());
        if (answer === 'drop') socket.terminate();
        else if (answer !== 'silence') this.#send(socket, data.toString(), answer);
      });
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get connections(): number {
    return this.#sockets.clients.size;
  }

  /** Its address, with what must be in no message. */
  url(scheme: 'ws' | 'http' = 'ws'): string {
    return `${scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}/key-of-a-provider`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #send(socket: WebSocket, asked: string, answer: string): void {
    socket.send(answer);
    const call = JSON.parse(asked) as ReplayCall;
    if (this.methods === 'legacy' || Array.isArray(call)) return;
    const { result: subscription } = JSON.parse(answer);
    for (const result of this.#newMethods.events(call.method, call.params)) {
      if (this.eventsMax-- === 0) socket.terminate();
      const method = `${call.method}Event`;
      socket.send(JSON.stringify({ jsonrpc: '2.0', method, params: { subscription, result } }));
    }
  }

  get #newMethods(): NewMethods {
    return new NewMethods((method, params) => this.chain.answer(method, params), this.methods === 'both');
  }

  #answer(text: string): string {
    const asked = JSON.parse(text) as ReplayCall | ReplayCall[];
    const calls = [asked].flat();
    this.requests.push(calls);
    if (this.silences > 0) {
      this.silences--;
      return 'silence';
    }
    if (this.drops > 0) {
      this.drops--;
      return 'drop';
    }
    if (calls.length > this.batchMax)
      return replyOf(null, { code: -32010, message: 'The batch request was too large' });
    const replies = calls.map((call) => this.#reply(call));
    const whole = Array.isArray(asked) ? `[${replies.join(',')}]` : (replies[0] as string);
    return whole.slice(0, this.bytesMax);
  }

  #reply(call: ReplayCall): string {
    try {
      const instead = this.answerInstead(call);
      const result = instead === undefined ? this.#text(call) : JSON.stringify(instead);
      return `{"jsonrpc":"2.0","id":${call.id},"result":${result}}`;
    } catch (error) {
      // What was never asked of the recorded node is an error of this one.
      const code = error instanceof ReplayError ? error.code : -32001;
      return replyOf(call.id, { code, message: (error as Error).message });
    }
  }

  #text({ method, params }: ReplayCall): string {
    if (this.methods !== 'legacy') return JSON.stringify(this.#newMethods.answer(method, params) ?? null);
    const { best, finalized, prunedBelow } = this.chain;
    const question = `${best} ${finalized} ${prunedBelow} ${method} ${JSON.stringify(params)}`;
    const known = this.#texts.get(question);
    if (known !== undefined) return known;
    const text = JSON.stringify(this.chain.answer(method, params));
    this.#texts.set(question, text);
    return text;
  }
}

const replyOf = (id: number | null, error: { code: number; message: string }) =>
  JSON.stringify({ jsonrpc: '2.0', id, error });
