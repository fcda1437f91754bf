import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Node keeps the answer of a socket that is under way here, and tells it nowhere else. */
type Answering = Socket & { readonly _httpMessage?: NodeJS.EventEmitter | null };

/**
 * Answers a request that asks for another protocol as if it did not, as RFC 9110 §7.8 allows, and those pipelined behind
 * it: by itself Node answers the first and drops the bytes of the others. The connection is read again from that request
 * on, without the headers that ask.
 */
export function ignoreUpgrades(app: FastifyInstance): void {
  const server = app.server as Server;
  server.on('upgrade', (request: IncomingMessage, socket: Answering, head: Buffer) => {
    const again = () => {
      // Answers to earlier requests come first.
      const answer = socket._httpMessage;
      if (answer) return void answer.once('close', () => setImmediate(again));
      if (socket.destroyed) return;
      socket.removeAllListeners('timeout');
      socket.unshift(Buffer.concat([withoutUpgrade(request), head]));
      server.emit('connection', socket);
    };
    again();
  });
}

function withoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
    const kept = name.toLowerCase() === 'connection' ? otherOptions(value) : value;
    if (name.toLowerCase() !== 'upgrade' && kept !== '') lines.push(`${name}: ${kept}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

const otherOptions = (connection: string): string =>
  connection
    .split(',')
    .filter((option) => option.trim().toLowerCase() !== 'upgrade')
    .join(',')
    .trim();
