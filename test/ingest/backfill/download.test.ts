import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { download } from '../../../ingest/backfill/download.ts';

it('a download that is given up ends its connection', async () => {
  const answers: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    answers.push(response);
    response.write('{}\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const stream = download(`http://127.0.0.1:${port}/polkadot.ndjson`, new AbortController().signal).open();
  const [piece] = await once(stream, 'data');
  expect(String(piece)).toBe('{}\n');
  stream.destroy();
  await once(answers[0] as ServerResponse, 'close', { signal: AbortSignal.timeout(3000) });
});
