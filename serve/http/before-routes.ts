import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';

/**
 * Gives requests to `answer` before the routes, which get what it does not take. A server that is busy or about to
 * stop leaves all of them to its routes.
 */
export function answerBeforeRoutes(
  app: FastifyInstance,
  answer: (raw: IncomingMessage, response: ServerResponse) => boolean,
): void {
  const { server } = app;
  const routes = server.listeners('request');
  let isStopping = false;
  app.addHook('preClose', async () => {
    isStopping = true;
  });
  server.removeAllListeners('request');
  server.on('request', (raw, response) => {
    if (!isStopping && !app.isUnderPressure() && answer(raw, response)) return;
    for (const listener of routes) listener.call(server, raw, response);
  });
}
