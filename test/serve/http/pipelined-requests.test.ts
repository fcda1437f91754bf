import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { openPipeline } from '../../../serve/application/compose/compose.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { readyDirectory } from '../../support/pipeline.ts';

test('requests that a connection sends without waiting are answered in their order, also after others left', async () => {
  using directory = await readyDirectory();
  const pipeline = await openPipeline(readConfig({ DATA_DIR: directory.path, LOG_LEVEL: 'error' }));
  const app = await buildServer(pipeline);
  const origin = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const path = '/api/daily-fees';
  for (let i = 0; i < 2; i++) await (await fetch(`${origin.origin}${path}`)).text();
  const request = (of: string, rest = '') => `GET ${of} HTTP/1.1\r\nHost: a\r\n${rest}\r\n`;
  const open = () => connect(Number(origin.port), origin.hostname);

  const leaving = open();
  leaving.write(request(path).repeat(3), () => leaving.destroy());
  const socket = open();
  socket.write(
    request(path) + request('/health/live') + request(path) + request('/no', 'Connection: close\r\n'),
  );
  const answers = (await text(socket)).split(/(?=HTTP\/1\.1 )/);

  expect(answers.map((answer) => /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])).toEqual([
    '200',
    '200',
    '200',
    '404',
  ]);
  const bodies = answers.map((answer) => answer.slice(answer.indexOf('\r\n\r\n')));
  expect(bodies[2]).toBe(bodies[0]);
  expect(bodies[1]).not.toBe(bodies[0]);
  expect((await fetch(`${origin.origin}${path}`)).status).toBe(200);
  await app.close();
  await pipeline.close();
});
