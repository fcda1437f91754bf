import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { containerService, hasImage } from './container.ts';
import { freePort, isInstalled, processService, type Service } from './service.ts';

const { REDIS_IMAGE = 'redis:7.4-alpine' } = process.env;

/** Redis that keeps its data in an append-only file. */
export async function startRedis({ password = '' } = {}): Promise<Service> {
  const flags = ['--appendonly', 'yes', '--save', '', ...(password ? ['--requirepass', password] : [])];
  if (await hasImage(REDIS_IMAGE)) {
    // As the official image sets it: Docker decides who reaches it.
    const command = ['redis-server', '--protected-mode', 'no', ...flags];
    return containerService({ image: REDIS_IMAGE, innerPort: 6379, command, answers });
  }
  if (!(await isInstalled('redis-server'))) throw new Error('redis-server is not installed');
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'chain-metrics-redis-'));
  return processService({
    port,
    command: 'redis-server',
    args: ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, ...flags],
    answers: () => answers(port),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  });
}

/** Any answer will do, also that a password is wanted; while it loads its file it says so. */
function answers(port: number): Promise<void> {
  return new Promise((done, failed) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.once('data', (text) => {
      socket.destroy();
      if (/LOADING/.test(String(text))) failed(new Error('loading'));
      else done();
    });
    socket.once('error', failed);
    socket.once('close', () => failed(new Error('closed')));
  });
}
