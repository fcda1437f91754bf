import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bareApp } from '../../../serve/http/bare-app.ts';
import { refuseOtherMethods } from '../../../serve/http/refusals.ts';
import { readConfig } from '../../../serve/settings/settings.ts';

const app = bareApp(readConfig({}), {}, () => false);
let port = 0;
beforeAll(async () => {
  const refuseOthers = refuseOtherMethods(app);
  app.get('/slow', async () => {
    await setTimeout(100);
    return { at: 'slow' };
  });
  app.get('/:name', async ({ params }) => ({ at: (params as { name: string }).name }));
  app.post('/echo', async ({ body }) => ({ echo: body }));
  refuseOthers();
  port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
});
afterAll(() => app.close());

const get = (path: string, ...headers: string[]) =>
  `${[`GET ${path} HTTP/1.1`, 'Host: a', ...headers].join('\r\n')}\r\n\r\n`;
const UPGRADE = ['Connection: Upgrade', 'Upgrade: h2c'];
const LAST = get('/last', 'Connection: close');

/** What is answered to bytes that are sent together, or in these pieces. */
async function answersTo(...pieces: string[]): Promise<string[]> {
  const socket = connect(port, '127.0.0.1');
  const answered = text(socket);
  for (const piece of pieces) {
    socket.write(piece);
    await setTimeout(20);
  }
  return [...(await answered).matchAll(/(HTTP\/1\.1 \d+|"(?:at|echo)":[^}]+)/g)].map(([part]) => part);
}
const ok = (...bodies: string[]) => bodies.flatMap((body) => ['HTTP/1.1 200', body]);

test('a request behind one that asks for another protocol gets its answer', async () => {
  expect(await answersTo(get('/a', ...UPGRADE) + get('/b') + LAST)).toEqual(
    ok('"at":"a"', '"at":"b"', '"at":"last"'),
  );
});

test('several that ask, also beside other options and behind an answer that takes a while', async () => {
  const websocket = ['Connection: keep-alive, Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: a'];
  expect(
    await answersTo(get('/slow') + get('/a', ...UPGRADE) + get('/slow') + get('/b', ...websocket) + LAST),
  ).toEqual(ok('"at":"slow"', '"at":"a"', '"at":"slow"', '"at":"b"', '"at":"last"'));
});

test('one with a body, and what comes later in other packets', async () => {
  const body = JSON.stringify({ a: 'b'.repeat(100) });
  const post = `POST /echo HTTP/1.1\r\nHost: a\r\n${UPGRADE.join('\r\n')}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const answers = await answersTo(
    post + body.slice(0, 10),
    body.slice(10) + get('/a', ...UPGRADE).slice(0, 9),
    get('/a', ...UPGRADE).slice(9),
    LAST,
  );
  expect(answers.filter((answer) => answer.startsWith('HTTP'))).toEqual(Array(3).fill('HTTP/1.1 200'));
  expect(answers.slice(-3)).toEqual(['"at":"a"', ...ok('"at":"last"')]);
});

test('fifty on one connection leave nothing on it', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  const many = Array.from({ length: 50 }, () => get('/a', ...UPGRADE)).join('');
  expect(await answersTo(many + LAST)).toHaveLength(102);
  process.off('warning', note);
  expect(warnings).toEqual([]);
});

test.each(['PROPFIND', 'MKCOL', 'REPORT', 'LOCK', 'M-SEARCH', 'TRACE', 'PURGE'])(
  'a path that is there refuses %s with what it allows, and one that is not is not found',
  async (method) => {
    const ask = async (path: string) => {
      const socket = connect(port, '127.0.0.1');
      socket.write(`${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      return text(socket);
    };
    const refused = await ask('/echo');
    expect(refused).toMatch(/^HTTP\/1\.1 405/);
    expect(refused).toMatch(/\r\nallow: .*POST\r\n/i);
    expect(await ask('/a/b')).toMatch(/^HTTP\/1\.1 404/);
  },
);
