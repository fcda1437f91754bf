import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A confidential application on another origin, as its own users meet it: a server with pages and a callback. */
export interface ClientApplication extends AsyncDisposable {
  readonly origin: string;
  readonly redirectUri: string;
  /** Where its callback sends the user on to, on a third origin. */
  readonly onward: string;
  /** Gives it what it got when it was registered. */
  register(at: { issuer: string; id: string; secret: string }): void;
}

type Answer = (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void> | void;

async function listen(answer: Answer): Promise<{ server: Server; origin: string }> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://client.invalid');
    Promise.resolve(answer(request, response, url)).catch((error) => {
      response.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  // By a name, so that it is another site than the service on 127.0.0.1.
  return { server, origin: `http://localhost:${(server.address() as AddressInfo).port}` };
}

const page = (response: ServerResponse, body: string) =>
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<!doctype html>${body}`);

export async function openClientApplication(): Promise<ClientApplication> {
  let registered = { issuer: '', id: '', secret: '' };
  const third = await listen((_request, response, url) => {
    page(response, `<p id="user">${url.searchParams.get('user')}</p>`);
  });
  const redirectUri = () => `${client.origin}/callback`;

  const authorize = (state: string, more: string) =>
    `${registered.issuer}/oauth/authorize?${new URLSearchParams({
      client_id: registered.id,
      redirect_uri: redirectUri(),
      response_type: 'code',
      scope: 'read_user',
      state,
    })}${more}`;

  const userOf = async (code: string): Promise<string> => {
    const token = await fetch(`${registered.issuer}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri(),
        client_id: registered.id,
        client_secret: registered.secret,
      }),
    });
    const { access_token } = (await token.json()) as { access_token: string };
    const answer = await fetch(`${registered.issuer}/api/v4/user`, {
      headers: { authorization: `Bearer ${access_token}` },
    });
    return ((await answer.json()) as { username: string }).username;
  };

  const client = await listen(async (request, response, url) => {
    if (url.pathname === '/') {
      page(
        response,
        `<p id="told"></p><button id="popup">Sign in</button><script>
addEventListener('message', ({ data, origin }) => {
  if (origin === location.origin) document.getElementById('told').textContent = data;
});
document.getElementById('popup').onclick = () => open('/start?state=popup', 'sign-in', 'popup');
</script>`,
      );
      return;
    }
    if (url.pathname === '/start') {
      const more = url.searchParams.get('more') ?? '';
      response.writeHead(302, { location: authorize(url.searchParams.get('state') ?? '', more) }).end();
      return;
    }
    const answer = request.method === 'POST' ? new URLSearchParams(await text(request)) : url.searchParams;
    const { code, state, error } = Object.fromEntries(answer);
    const user = code === undefined ? `refused: ${error}` : await userOf(code);
    if (state === 'onward') {
      response.writeHead(303, { location: `${third.origin}/?user=${user}` }).end();
    } else if (state === 'popup') {
      page(
        response,
        `<script>window.opener.postMessage('${user}', location.origin); window.close();</script>`,
      );
    } else page(response, `<p id="user">${user}</p>`);
  });

  return {
    origin: client.origin,
    redirectUri: redirectUri(),
    onward: third.origin,
    register: (at) => {
      registered = at;
    },
    [Symbol.asyncDispose]: async () => {
      for (const { server } of [client, third]) {
        server.closeAllConnections();
        await new Promise((done) => server.close(done));
      }
    },
  };
}
