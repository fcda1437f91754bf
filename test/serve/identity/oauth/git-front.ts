import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

export const NGINX = '/usr/sbin/nginx';
export const FCGIWRAP = '/usr/sbin/fcgiwrap';

const EXAMPLE = new URL('../../../../infra/nginx.conf', import.meta.url);

/** What Git's CGI program was called with. */
export interface ReceivedByGit {
  readonly method: string;
  readonly path: string;
  readonly query: string;
}

export interface GitFront {
  /** Git behind the authorization of the service. */
  readonly url: string;
  /** The same without authorization: everybody is a named user. */
  readonly openUrl: string;
  /** The service behind the proxy. */
  readonly serviceUrl: string;
  received(): ReceivedByGit[];
  stop(): Promise<void>;
}

/** Starts nginx with the configuration of `infra/nginx.conf`, and Git's own HTTP program behind it. */
export async function startGitFront(
  service: string,
  repositories: string,
  directory: string,
): Promise<GitFront> {
  mkdirSync(directory, { recursive: true });
  const at = (name: string) => join(directory, name);
  const [metrics = 0, git = 0, open = 0] = await freePorts(3);
  writeFileSync(at('git.sh'), recorder(at('received')));
  chmodSync(at('git.sh'), 0o755);
  const example = readFileSync(EXAMPLE, 'utf8')
    .replaceAll('http://127.0.0.1:3000', service)
    .replaceAll('/usr/lib/git-core/git-http-backend', at('git.sh'))
    .replaceAll('/srv/git', repositories)
    .replaceAll('/run/fcgiwrap.socket', at('socket'))
    .replaceAll('include fastcgi_params', 'include /etc/nginx/fastcgi_params');
  let ports = [metrics, git];
  const secured = example.replaceAll('listen 443 ssl', () => `listen 127.0.0.1:${ports.shift()}`);
  ports = [0, open];
  const unsecured = example
    .slice(example.lastIndexOf('\nserver {'))
    .replace(/ *auth_request.*\n/g, '')
    .replace('$git_pusher', 'anybody')
    .replace('listen 443 ssl', `listen 127.0.0.1:${open}`);
  writeFileSync(at('nginx.conf'), mainConfiguration(directory, secured + unsecured));
  const programs = [
    spawn(FCGIWRAP, ['-s', `unix:${at('socket')}`], { stdio: 'ignore' }),
    spawn(NGINX, ['-p', directory, '-c', at('nginx.conf'), '-e', at('error.log')], { stdio: 'ignore' }),
  ];
  await Promise.all([git, open, metrics].map((port) => listening(port, at('error.log'))));
  return {
    url: `http://127.0.0.1:${git}`,
    openUrl: `http://127.0.0.1:${open}`,
    serviceUrl: `http://127.0.0.1:${metrics}`,
    received: () => receivedIn(at('received')),
    stop: () => Promise.all(programs.map(ended)).then(() => undefined),
  };
}

function mainConfiguration(directory: string, servers: string): string {
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join('\n');
  return `${user} daemon off; worker_processes 1; pid ${directory}/nginx.pid;
events {}
http { access_log off; ${temporary}
${servers} }`;
}

/** Notes what Git is asked for, then runs it. */
const recorder = (file: string) => `#!/bin/sh
printf '%s\\0%s\\0%s\\0' "$REQUEST_METHOD" "$PATH_INFO" "$QUERY_STRING" >>'${file}'
exec '${execFileSync('git', ['--exec-path']).toString().trim()}/git-http-backend'
`;

function receivedIn(file: string): ReceivedByGit[] {
  const fields = existsSync(file) ? readFileSync(file, 'latin1').split('\0').slice(0, -1) : [];
  return Array.from({ length: fields.length / 3 }, (_, i) => {
    const [method = '', path = '', query = ''] = fields.slice(3 * i, 3 * i + 3);
    return { method, path, query };
  });
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

async function listening(port: number, log: string): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    const socket = connect(port, '127.0.0.1');
    const isThere = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await setTimeout(10);
  }
  throw new Error(`nginx does not listen: ${existsSync(log) ? readFileSync(log, 'utf8') : ''}`);
}

async function ended(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null) return;
  const exit = once(program, 'exit');
  program.kill('SIGTERM');
  await exit;
}
