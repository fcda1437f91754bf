import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Auth, type AuthConfig } from '@auth/core';

/** An application that signs in with Auth.js, without one of the frameworks that it serves. */
export const authJsApplication =
  (origin: string, provider: AuthConfig['providers'][number]) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const config: AuthConfig = {
      providers: [provider],
      secret: 's'.repeat(32),
      trustHost: true,
      basePath: '/auth',
    };
    const headers = new Headers(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    if (request.url === '/') {
      const session = await Auth(new Request(`${origin}/auth/session`, { headers }), config);
      const { user } = (await session.json()) ?? {};
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(user ? `Signed in as ${user.name}` : '<a href="/auth/signin">Sign in</a>');
      return;
    }
    const { method = 'GET' } = request;
    if (!request.url?.startsWith('/auth/')) {
      response.writeHead(404).end();
      return;
    }
    const body = method === 'POST' ? await text(request) : null;
    const answer = await Auth(new Request(origin + request.url, { method, headers, body }), config);
    response.writeHead(answer.status, {
      ...Object.fromEntries(answer.headers),
      'set-cookie': answer.headers.getSetCookie(),
    });
    response.end(await answer.text());
  };
