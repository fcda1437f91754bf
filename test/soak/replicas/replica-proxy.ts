import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Replica } from './servers.ts';

const ON_CLUSTER = / ON CLUSTER \S+/;
const NEW_TABLE = /^\s*CREATE (?:TABLE|MATERIALIZED VIEW)\b/i;

/**
 * One address for all replicas, as the guide wants it: the first one answers, and when it is down the next one that is
 * up, once it has caught up. The replicas here have no queue of statements for the cluster, so the proxy sends those to
 * each, with one identity for each table, and to one that is down when it is back.
 */
export class ReplicaProxy {
  readonly #replicas: readonly Replica[];
  readonly #missed = new Map<Replica, string[]>();
  readonly #server = createServer((asked, answer) => {
    this.#answer(asked, answer).catch((error) => {
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(503).end(String(error));
    });
  });
  #statements: Promise<unknown> = Promise.resolve();
  #current: Promise<Replica>;

  constructor(replicas: readonly Replica[]) {
    this.#replicas = replicas;
    this.#current = Promise.resolve(replicas[0] as Replica);
  }

  async listen(): Promise<string> {
    await new Promise<void>((ready) => this.#server.listen(0, '127.0.0.1', ready));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** A replica is down, and another one answers from now on. */
  async leave(left: Replica): Promise<void> {
    this.#missed.set(left, []);
    if ((await this.#current) !== left) return;
    const next = this.#replicas.find((replica) => !this.#missed.has(replica)) as Replica;
    this.#current = caughtUp(next).then(() => next);
    await this.#current;
  }

  /** It is up again. */
  async join(replica: Replica): Promise<void> {
    for (const statement of this.#missed.get(replica) ?? []) await ask(replica, statement);
    this.#missed.delete(replica);
  }

  async #answer(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = new URL(asked.url as string, 'http://proxy');
    const isStatement = asked.method === 'POST' && !url.searchParams.has('query');
    const body = isStatement ? await buffer(asked) : undefined;
    const text = body?.toString() ?? '';
    if (ON_CLUSTER.test(text)) {
      const done = this.#statements.then(() => this.#everywhere(text, url.search));
      this.#statements = done.catch(() => undefined);
      const { status, said } = await done;
      answer.writeHead(status).end(said);
      return;
    }
    const { port } = await this.#current;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const passed = request(
      { host: '127.0.0.1', port, path: asked.url, method: asked.method, headers: asked.headers },
      resolve,
    );
    passed.once('error', reject);
    answer.once('close', () => passed.destroy());
    if (body) passed.end(body);
    else await Promise.race([pipeline(asked, passed), promise]);
    const given = await promise;
    answer.writeHead(given.statusCode as number, given.headers);
    await pipeline(given, answer);
  }

  async #everywhere(text: string, search: string): Promise<{ status: number; said: string }> {
    const statement = text.replace(ON_CLUSTER, NEW_TABLE.test(text) ? ` UUID '${randomUUID()}'` : '');
    let answered = { status: 200, said: '' };
    for (const replica of this.#replicas) {
      const missed = this.#missed.get(replica);
      if (missed) missed.push(statement);
      else {
        const answer = await fetch(`${replica.url}/${search}`, { method: 'POST', body: statement });
        const said = await answer.text();
        if (!answer.ok) answered = { status: answer.status, said };
      }
    }
    return answered;
  }
}

export async function ask(replica: Replica, statement: string): Promise<string> {
  const answer = await fetch(replica.url, { method: 'POST', body: statement });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text;
}

/** Until it has all that was acknowledged before. */
export async function caughtUp(replica: Replica): Promise<void> {
  const tables = await ask(replica, "SELECT database || '.' || table FROM system.replicas FORMAT TSV");
  for (const table of tables.split('\n').filter(Boolean)) await ask(replica, `SYSTEM SYNC REPLICA ${table}`);
}
