/**
 * A process that asks for paths in turn, over and over, on keep-alive connections, one request at a time on each, and counts
 * the answers. It speaks just enough HTTP for answers with a content length, so that it costs little beside the
 * server that it measures. Started by `startLoad`, which talks to it over IPC.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

export interface Asked {
  readonly port: number;
  readonly paths: readonly string[];
  readonly milliseconds: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const CONNECTIONS = 32;
const HEAD_END = Buffer.from('\r\n\r\n');
const NOT_MODIFIED = 'HTTP/1.1 304';

/** Requests a second. */
export type Load = (asked: Asked) => Promise<number>;

/** Starts the process that makes the load. */
export function startLoad(): { ask: Load; stop: () => void } {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['--load']);
  const ask: Load = (asked) =>
    new Promise((done, failed) => {
      child.once('message', (answer: { rate: number } | { error: string }) =>
        'rate' in answer ? done(answer.rate) : failed(new Error(answer.error)),
      );
      child.send(asked);
    });
  return { ask, stop: () => child.kill() };
}

async function makeLoad({ port, paths, milliseconds, headers = {} }: Asked): Promise<number> {
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(
    (pair) => `${pair.join(': ')}\r\n`,
  );
  const requests = paths.map((path) => Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`));
  let sent = 0;
  const next = () => requests[sent++ % requests.length] as Buffer;
  const started = performance.now();
  const until = started + milliseconds;
  const counts = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => askUntil(connect(port, '127.0.0.1'), next, until)),
  );
  return (counts.reduce((sum, count) => sum + count, 0) / (performance.now() - started)) * 1000;
}

function askUntil(socket: Socket, next: () => Buffer, until: number): Promise<number> {
  socket.setNoDelay(true);
  return new Promise((done, failed) => {
    let answers = 0;
    /** Bytes of the current answer that have not come yet; -1 before its head is read. */
    let missing = -1;
    let head: Buffer = Buffer.alloc(0);
    const take = (chunk: Buffer) => {
      if (missing < 0) {
        head = head.length > 0 ? Buffer.concat([head, chunk]) : chunk;
        const end = head.indexOf(HEAD_END);
        if (end < 0) return;
        missing = contentLength(head, end) - (head.length - end - HEAD_END.length);
        head = Buffer.alloc(0);
      } else missing -= chunk.length;
      if (missing > 0) return;
      missing = -1;
      answers++;
      if (performance.now() < until) socket.write(next());
      else socket.end(() => done(answers));
    };
    socket.on('data', (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.on('error', failed);
    socket.on('connect', () => socket.write(next()));
  });
}

/** A long head takes no longer than a short one, where nothing has to be found in it. */
function contentLength(answer: Buffer, end: number): number {
  if (answer.toString('latin1', 0, NOT_MODIFIED.length) === NOT_MODIFIED) return 0;
  const head = answer.toString('latin1', 0, end);
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(`not an answer to measure: ${head.slice(0, 200)}`);
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? [];
  if (length === undefined) throw new Error('an answer without a content length');
  return Number(length);
}

if (process.argv.includes('--load')) {
  process.on('message', (asked: Asked) => {
    makeLoad(asked).then(
      (rate) => process.send?.({ rate }),
      (error: Error) => process.send?.({ error: error.message }),
    );
  });
}
