import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Node exposes the response in progress only in this private field. */
type Answering = Socket & { readonly _httpMessage?: NodeJS.EventEmitter | null };

/**
 * Ignores `Upgrade` headers, as RFC 9110 §7.8 allows. Node drops requests that are pipelined after a request
 * with `Upgrade`. So this function emits the connection again, starting with that request without its upgrade headers.
 */
export function ignoreUpgrades(app: FastifyInstance): void {
  const server = app.server as Server;
  server.on('upgrade', (request: IncomingMessage, socket: Answering, head: Buffer) => {
    const again = () => {
      // Wait for the response to an earlier request.
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
