import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

// `node test/soak/bad-callers.ts NAME PORT ADDRESSES`: one of the callers that `worst-callers.ts` measures beside another.
const [name = '', port = '', addresses = '1'] = import.meta.main ? process.argv.slice(2) : [];
const ALL_REWARDS = '/api/daily-staking-rewards?start_date=2024-01-01&end_date=2099-01-01';

/** Loopback has many addresses: the server sees as many callers. */
const addressOf = (n: number) => `127.0.0.${2 + (n % Number(addresses))}`;

/** Calls until its process ends. */
type Caller = (port: number) => Promise<never>;

function open(port: number, n: number, text: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: addressOf(n) });
  socket.on('error', () => undefined);
  socket.write(text);
  return socket;
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`;
export const day = (n: number) => new Date(Date.UTC(2023, 0, 1 + (n % 300))).toISOString().slice(0, 10);

/** Keeps so many connections; each that the server closes is opened again. */
const keeping =
  (count: number, begin: (port: number, n: number) => Socket): Caller =>
  async (port) => {
    let n = 0;
    const sockets = new Set<Socket>();
    for (;;) {
      while (sockets.size < count) {
        const socket = begin(port, n++);
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
      }
      await pause(200);
    }
  };

/** Each in its own way the worst that one caller can do. */
export const badCallers: Readonly<Record<string, Caller>> = {
  'readers that take nothing': keeping(40, (port, n) =>
    open(port, n, get(`/api/daily-summary?start_date=${day(n)}&end_date=2099-12-31`)).pause(),
  ),
  'readers that hang up': async (port) => {
    for (let n = 0; ; n++) {
      const socket = open(port, n, get(`${ALL_REWARDS}&limit=${1 + (n % 10_000)}`));
      setTimeout(() => socket.destroy(), 50);
      await pause(10);
    }
  },
  'dear questions': keeping(30, (port, n) =>
    open(
      port,
      n,
      get(
        `${ALL_REWARDS}&accounts=15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5&limit=${1 + (n % 10_000)}`,
      ),
    )
      .resume()
      .once('data', function (this: Socket) {
        this.end();
      }),
  ),
  'bodies without an end': keeping(900, (port, n) => {
    const socket = open(
      port,
      n,
      'POST /oauth/token HTTP/1.1\r\nhost: test\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 100000\r\n\r\n',
    );
    const drip = setInterval(() => socket.write('a'), 5000);
    socket.resume().once('close', () => clearInterval(drip));
    return socket;
  }),
};

if (import.meta.main) {
  process.once('disconnect', () => process.exit());
  await badCallers[name]?.(Number(port));
}
