import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { AnswersInFlight } from '../../../serve/metrics/answers-in-flight.ts';

const server = createServer();
afterEach(() => server.close());

it('counts an answer until its reader is gone, and not for a reader who left before it was there', async () => {
  const answers = new AnswersInFlight<{ readonly body: Buffer }>(2 ** 20);
  const answer = { body: Buffer.alloc(1000) };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nhost: test\r\n\r\n');
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  answers.hold('key', answer, response);
  expect(answers.bytes).toBe(1000);
  client.destroy();
  await once(response, 'close');
  expect(answers.bytes).toBe(0);
  answers.hold('key', answer, response);
  expect(answers.bytes).toBe(0);
  expect(answers.find('key')).toBeUndefined();
});
