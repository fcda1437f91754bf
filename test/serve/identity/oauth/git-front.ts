import { execFileSync, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Behaves like nginx with `auth_request`: sends `Authorization` and `X-Original-URI` of every request to the service,
 * and passes authorized requests to the http-backend of git.
 */
export async function startGitFront(
  service: string,
  repositories: string,
): Promise<{ url: string; stop(): void }> {
  const backend = `${execFileSync('git', ['--exec-path']).toString().trim()}/git-http-backend`;
  const server: Server = createServer((request, response) => {
    answer(service, repositories, backend, request, response).catch((error) => {
      response.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop: () => server.close() };
}

async function answer(
  service: string,
  repositories: string,
  backend: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { authorization } = request.headers;
  const asked = await fetch(`${service}/oauth/git`, {
    headers: {
      'x-original-uri': request.url ?? '',
      ...(authorization === undefined ? {} : { authorization }),
    },
  });
  if (asked.status !== 200) {
    const challenge = asked.headers.get('www-authenticate');
    response.writeHead(asked.status, challenge === null ? {} : { 'www-authenticate': challenge }).end();
    return;
  }
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const child = spawn(backend, {
    env: {
      GIT_PROJECT_ROOT: repositories,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method ?? 'GET',
      PATH_INFO: path,
      QUERY_STRING: query,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      // Git enables receive-pack when a user is set; the service has authorized the request before.
      REMOTE_USER: asked.headers.get('x-auth-user') ?? '',
      PATH: process.env.PATH ?? '',
    },
  });
  request.pipe(child.stdin);
  let head = Buffer.alloc(0);
  let isBody = false;
  child.stdout.on('data', (chunk: Buffer) => {
    if (isBody) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    isBody = true;
    const headers = head
      .toString('latin1', 0, end)
      .split('\r\n')
      .map((line) => line.split(/: (.*)/, 2) as [string, string]);
    const status = headers.find(([name]) => name === 'Status')?.[1] ?? '200';
    response.writeHead(
      Number.parseInt(status, 10),
      Object.fromEntries(headers.filter(([name]) => name !== 'Status')),
    );
    response.write(head.subarray(end + 4));
  });
  child.stdout.on('end', () => response.end());
}
