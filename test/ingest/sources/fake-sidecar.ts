import { setTimeout } from 'node:timers/promises';
import Fastify, { type FastifyReply } from 'fastify';
import { recordedLines } from '../../support/recordings.ts';

/** How the next answers go wrong. */
export type Fault =
  | ('500' | '404' | '429' | 'dropped' | 'cut' | 'silent' | 'page' | 'other block')
  /** A body that goes on for ever, and a refusal that takes longer than half of the time. */
  | ('trickling' | 'slow 500');

interface Block {
  readonly number: string;
  readonly hash: string;
  readonly parentHash: string;
  readonly finalized: boolean;
}

export interface FakeOptions {
  readonly specName?: string;
  /** `/v1` for the successor, which also refuses in its own way. */
  readonly root?: string;
  /** Answers of other routes by path, as they were recorded. */
  readonly documents?: Readonly<Record<string, unknown>>;
}

/** A service on loopback that answers as Sidecar does, with blocks that can be moved, and faults on demand. */
export class FakeSidecar {
  url = '';
  isPretty = false;
  delayMs = 0;
  slowMs = 600;
  /** Heights in the order in which they were asked for. */
  readonly asked: number[] = [];
  /** Called with every path before it is answered. */
  onRequest: (path: string) => void = () => undefined;
  finalized = 0;
  best = 0;
  mostAtOnce = 0;
  specName: string;
  readonly #app = Fastify({ forceCloseConnections: true });
  readonly #texts = new Map<number, string>();
  readonly #byHash = new Map<string, string>();
  readonly #faults: { path: RegExp; fault: Fault; left: number }[] = [];
  #atOnce = 0;

  constructor(
    lines: readonly string[],
    { specName = 'polkadot', root = '', documents = {} }: FakeOptions = {},
  ) {
    this.specName = specName;
    for (const line of lines) this.put(line);
    this.finalized = Math.max(...this.#texts.keys());
    this.best = this.finalized;
    this.#app.addHook('onRequest', async ({ url }, reply) => {
      this.onRequest(url);
      await this.#fail(url, reply);
    });
    this.#app.get(`${root}/runtime/spec`, async () => ({ specName: this.specName }));
    this.#app.get(`${root}/blocks/head`, async ({ query }) =>
      JSON.parse(
        this.at((query as { finalized?: string }).finalized === 'false' ? this.best : this.finalized),
      ),
    );
    this.#app.get(`${root}/blocks/:id`, async ({ params }, reply) => {
      this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#atOnce);
      if (this.delayMs > 0) await setTimeout(this.delayMs);
      this.#atOnce--;
      const { id } = params as { id: string };
      if (!id.startsWith('0x')) this.asked.push(Number(id));
      const text = id.startsWith('0x') ? this.#byHash.get(id) : this.#texts.get(Number(id));
      if (text === undefined) {
        return root === ''
          ? reply.code(404).send({ code: 404, message: `Block ${id} not found` })
          : reply.code(400).send({ error: 'Block resolution failed' });
      }
      return reply.type('application/json').send(this.isPretty ? pretty(text) : text);
    });
    this.#app.get('/*', async ({ url }, reply) => {
      const document = url.startsWith(root)
        ? documents[url.slice(root.length).replace(/\?.*/, '')]
        : undefined;
      return document ?? reply.code(404).send({ code: 404, message: 'no such route' });
    });
  }

  /** Makes a block the one of its height. */
  put(line: string): void {
    const { number, hash } = JSON.parse(line) as Block;
    this.#texts.set(Number(number), line);
    this.#byHash.set(hash, line);
  }

  fail(path: RegExp, fault: Fault, times = 1): void {
    this.#faults.push({ path, fault, left: times });
  }

  /** Nothing goes wrong from here on. */
  recover(): void {
    this.#faults.length = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#app.close();
  }

  async listen(): Promise<this> {
    this.url = await this.#app.listen({ host: '127.0.0.1', port: 0 });
    return this;
  }

  /** The block that is the one of its height now. */
  at(height: number): string {
    const text = this.#texts.get(height);
    if (text === undefined) throw new Error(`the fake has no block ${height}`);
    return text;
  }

  async #fail(url: string, reply: FastifyReply): Promise<void> {
    const fault = this.#faults.find(({ path, left }) => left > 0 && path.test(url));
    if (!fault) return;
    fault.left--;
    switch (fault.fault) {
      case 'dropped':
        reply.raw.destroy();
        return void reply.hijack();
      case 'silent':
        return void reply.hijack();
      case 'cut':
        reply.hijack();
        reply.raw.writeHead(200, { 'content-type': 'application/json', 'content-length': 5000 });
        reply.raw.write('{"number":"1","hash":');
        await setTimeout(5);
        return void reply.raw.destroy();
      case 'trickling': {
        reply.hijack();
        reply.raw.writeHead(200, { 'content-type': 'application/json' });
        const timer = setInterval(() => reply.raw.write(' '), 20);
        return void reply.raw.on('close', () => clearInterval(timer));
      }
      case 'slow 500':
        await setTimeout(this.slowMs);
        await reply.code(500).send({ code: 500, message: 'made to fail' });
        return;
      case 'page':
        await reply.type('text/html').send('<html>please log in</html>');
        return;
      case 'other block':
        await reply.type('application/json').send(this.at(this.finalized));
        return;
      default:
        await reply.code(Number(fault.fault)).send({ code: Number(fault.fault), message: 'made to fail' });
    }
  }
}

const pretty = (text: string) => JSON.stringify(JSON.parse(text), null, 2);

/** Recorded blocks of one chain, by height. */
export function recordedBlocks(chain: string): Map<number, string> {
  const lines = recordedLines('runtime').filter((line) => line.chain === chain);
  return new Map(lines.map(({ line }) => [Number((JSON.parse(line) as Block).number), line]));
}

const HASH_DIGITS = 64;

/** A block of another branch: the same content under another hash, on another parent. */
export function onBranch(line: string, branch: string, parentHash?: string): string {
  const block = JSON.parse(line) as Block;
  const hash = `0x${branch}${block.number}`.padEnd(HASH_DIGITS + 2, '0');
  return JSON.stringify({ ...block, hash, parentHash: parentHash ?? block.parentHash, finalized: false });
}

export const hashOf = (line: string): string => (JSON.parse(line) as Block).hash;
