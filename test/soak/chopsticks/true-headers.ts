import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { extrinsicsRoot, headerHash } from '../../../ingest/node/decode/check.ts';
import type { NodeHeader } from '../../../ingest/node/decode/header.ts';
import { type NodeRuntime, readRuntime } from '../../../ingest/node/decode/runtime.ts';

const HASH = /0x[\da-f]{64}(?![\da-f])/g;

/**
 * Stands before chopsticks, whose roots of extrinsics are none: gives its headers true ones, and with them other hashes.
 */
export class TrueHeaders {
  readonly url: string;
  readonly #node: string;
  readonly #socket: WebSocket;
  readonly #truth = new Map<string, string>();
  readonly #lies = new Map<string, string>();
  #runtime: NodeRuntime | undefined;
  #building: Promise<unknown> = Promise.resolve();

  private constructor(node: string, socket: WebSocket, server: WebSocketServer) {
    this.#node = node;
    this.#socket = socket;
    this.url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('connection', (caller) => void this.#connect(caller));
  }

  static async before(node: string): Promise<TrueHeaders> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    const socket = new WebSocket(node);
    await Promise.all([once(server, 'listening'), once(socket, 'open')]);
    return new TrueHeaders(node, socket, server);
  }

  /** Callers wait meanwhile. */
  async whileBuilding(work: () => Promise<void>): Promise<void> {
    this.#building = work();
    await this.#building;
  }

  /** Makes the headers of blocks true; those below are. */
  async learn(from: number, to: number): Promise<void> {
    const metadata = this.#runtime ? '' : String(await this.send('state_getMetadata', []));
    this.#runtime ??= readRuntime(Buffer.from(metadata.slice(2), 'hex'));
    for (let number = from; number <= to; number++) {
      const hash = String(await this.send('chain_getBlockHash', [number]));
      const { block } = (await this.send('chain_getBlock', [hash])) as {
        block: { header: NodeHeader; extrinsics: string[] };
      };
      const root = extrinsicsRoot(this.#runtime, block.extrinsics);
      const parentHash = this.#truth.get(block.header.parentHash) ?? block.header.parentHash;
      this.#pair(block.header.extrinsicsRoot, root);
      this.#pair(hash, headerHash({ ...block.header, parentHash, extrinsicsRoot: root }));
    }
  }

  /** Asks chopsticks itself, one question at a time. */
  async send(method: string, params: readonly unknown[]): Promise<unknown> {
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const [data] = await once(this.#socket, 'message');
    const { result, error } = JSON.parse(String(data));
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  #pair(lie: string, truth: string): void {
    this.#truth.set(lie, truth);
    this.#lies.set(truth, lie);
  }

  async #connect(caller: WebSocket): Promise<void> {
    const node = new WebSocket(this.#node);
    const isOpen = once(node, 'open');
    const pass = async (data: unknown, to: WebSocket, replacements: ReadonlyMap<string, string>) => {
      await isOpen;
      await this.#building;
      to.send(String(data).replace(HASH, (hash) => replacements.get(hash) ?? hash));
    };
    caller.on('message', (data) => void pass(data, node, this.#lies));
    node.on('message', (data) => void pass(data, caller, this.#truth));
    caller.on('close', () => node.terminate());
    node.on('close', () => caller.terminate());
  }
}
