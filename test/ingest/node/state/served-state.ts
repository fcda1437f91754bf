import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import { NodeRefusal } from '../../../../ingest/node/rpc-errors.ts';
import type { StateServer } from './state-server.ts';

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Serves a state over WebSocket, batches included; the address and how to end it. */
export async function serveState(state: Pick<StateServer, 'call'>, delayMs = 0) {
  const answer = async ({ id, method, params }: Call) => {
    if (delayMs > 0) await setTimeout(delayMs);
    try {
      return { jsonrpc: '2.0', id, result: await state.call(method, params) };
    } catch (error) {
      if (!(error instanceof NodeRefusal)) throw error;
      return { jsonrpc: '2.0', id, error: { code: -1, message: error.message } };
    }
  };
  const server = createServer();
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket: WebSocket) => {
    socket.on('message', async (data: Buffer) => {
      const calls = JSON.parse(data.toString()) as Call | Call[];
      const replies = Array.isArray(calls) ? await Promise.all(calls.map(answer)) : await answer(calls);
      socket.send(JSON.stringify(replies));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      for (const socket of sockets.clients) socket.terminate();
      server.close();
    },
  };
}
