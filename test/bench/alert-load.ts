/**
 * A process that posts 10 alerts a request on keep-alive connections, one request at a time on each, and counts the
 * answers. Every request tells of a later start, so that no server takes it for one that was sent twice.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

export interface Posted {
  readonly port: number;
  readonly path: string;
  readonly key: string;
  readonly connections: number;
  readonly milliseconds: number;
  /** Alertmanager's own list of alerts, or the body that it sends to a webhook. */
  readonly shape: 'list' | 'webhook';
}

export interface Rate {
  readonly perSecond: number;
  readonly p99Ms: number;
}

/** Starts the process that makes the load. */
export function startAlertLoad(): { post: (posted: Posted) => Promise<Rate>; stop: () => void } {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['--alert-load']);
  const post = (posted: Posted): Promise<Rate> =>
    new Promise((done, failed) => {
      child.once('message', (answer: Rate | { error: string }) =>
        'perSecond' in answer ? done(answer) : failed(new Error(answer.error)),
      );
      child.send(posted);
    });
  return { post, stop: () => child.kill() };
}

const ALERTS = 10;
let told = 0;

function requestOf({ port, path, key, shape }: Posted): string {
  const startsAt = new Date(Date.UTC(2026, 0, 1) + told++).toISOString();
  const alerts = Array.from({ length: ALERTS }, (_, i) => ({
    status: 'firing',
    labels: { alertname: 'Load', instance: `host-${i}.example:9100`, job: 'node', severity: 'page' },
    annotations: { summary: `Load of host-${i} is high`, description: 'Load has been high for 5 minutes.' },
    startsAt,
    ...(shape === 'webhook' ? { endsAt: '0001-01-01T00:00:00Z', fingerprint: `08dcd0f670d4fc4${i}` } : {}),
    generatorURL: 'http://prometheus.example/graph?g0.expr=load+%3E+9&g0.tab=1',
  }));
  const frame = {
    receiver: 'ours',
    status: 'firing',
    groupLabels: { alertname: 'Load' },
    commonLabels: { alertname: 'Load' },
    commonAnnotations: {},
    externalURL: 'http://alertmanager.example:9093',
    version: '4',
    groupKey: '{}:{alertname="Load"}',
    truncatedAlerts: 0,
  };
  const body = JSON.stringify(shape === 'webhook' ? { ...frame, alerts } : alerts);
  return (
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

async function makeLoad(posted: Posted): Promise<Rate> {
  const started = performance.now();
  const until = started + posted.milliseconds;
  const waits: number[] = [];
  await Promise.all(
    Array.from({ length: posted.connections }, () =>
      postUntil(connect(posted.port, '127.0.0.1'), posted, until, waits),
    ),
  );
  const seconds = (performance.now() - started) / 1000;
  waits.sort((a, b) => a - b);
  return { perSecond: waits.length / seconds, p99Ms: waits[Math.floor(waits.length * 0.99)] ?? 0 };
}

function postUntil(socket: Socket, posted: Posted, until: number, waits: number[]): Promise<void> {
  socket.setNoDelay(true);
  return new Promise((done, failed) => {
    let answer = '';
    let sent = 0;
    const send = () => {
      sent = performance.now();
      socket.write(requestOf(posted));
    };
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      const end = answer.indexOf('\r\n\r\n');
      if (end < 0) return;
      const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(answer) ?? [];
      if (answer.length < end + 4 + Number(length)) return;
      if (!answer.startsWith('HTTP/1.1 200')) return socket.destroy(new Error(answer.slice(0, 300)));
      answer = '';
      waits.push(performance.now() - sent);
      if (performance.now() < until) send();
      else socket.end(() => done());
    });
    socket.on('error', failed);
    socket.on('connect', send);
  });
}

if (process.argv.includes('--alert-load')) {
  process.on('message', (posted: Posted) => {
    makeLoad(posted).then(
      (rate) => process.send?.(rate),
      (error: Error) => process.send?.({ error: error.message }),
    );
  });
}
