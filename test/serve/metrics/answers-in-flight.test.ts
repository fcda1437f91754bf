import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { AnswersInFlight } from '../../../serve/metrics/answers-in-flight.ts';

const server = createServer();
afterEach(() => server.close());

interface Made {
  readonly body: Buffer;
}

/** A response that nobody has read yet, and its end. */
async function response(): Promise<{ response: ServerResponse; leave: () => Promise<unknown> }> {
  if (!server.listening) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nhost: test\r\n\r\n');
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  const leave = () => {
    client.destroy();
    return once(response, 'close');
  };
  return { response, leave };
}

it('counts an answer until its reader is gone, and not for a reader who left before it was there', async () => {
  const answers = new AnswersInFlight<Made>(2 ** 20);
  const answer = { body: Buffer.alloc(1000) };
  const reader = await response();
  answers.hold('key', answer, 'caller', reader.response);
  expect(answers.bytes).toBe(1000);
  await reader.leave();
  expect(answers.bytes).toBe(0);
  answers.hold('key', answer, 'caller', reader.response);
  expect(answers.bytes).toBe(0);
  expect(answers.find('key')).toBeUndefined();
});

it('renders no other long answer for a caller that holds half of the bytes, until it has read them', async () => {
  const answers = new AnswersInFlight<Made>(2 ** 20);
  const [half, short] = [{ body: Buffer.alloc(2 ** 19) }, { body: Buffer.alloc(1000) }];
  const [first, again, other] = [await response(), await response(), await response()];
  answers.hold('half', half, 'stalled', first.response);
  answers.hold('half', half, 'stalled', again.response);
  answers.hold('short', short, 'other', other.response);
  expect(() => answers.requireCallerShare(['stalled'])).toThrow('read them to the end');
  expect(() => answers.requireCallerShare(['stalled'], 10)).not.toThrow();
  expect(() => answers.requireCallerShare(['other'])).not.toThrow();
  expect(() => answers.requireCallerShare(['stalled', 'other'])).not.toThrow();
  await first.leave();
  expect(() => answers.requireCallerShare(['stalled'])).toThrow('read them to the end');
  await again.leave();
  expect(() => answers.requireCallerShare(['stalled'])).not.toThrow();
  expect(answers.bytes).toBe(1000);
  await other.leave();
});
