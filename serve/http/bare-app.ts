import { METHODS, type Server } from 'node:http';
import Fastify, { type FastifyHttpOptions, type FastifyInstance, LogController } from 'fastify';
import { arrivalLimits, type ConnectionSettings, limitConnections } from './connections.ts';
import { problemDialect } from './dialects.ts';
import { handleErrors } from './errors.ts';
import { refuseUnclearHost } from './host-header.ts';
import { refusePath, refuseUnreadable } from './refusals.ts';
import { ignoreUpgrades } from './upgrades.ts';
import { validated } from './validation.ts';

/** A server without routes: what limits the connections of every server of a process, and how requests are refused. */
export function bareApp(
  settings: ConnectionSettings,
  options: FastifyHttpOptions<Server>,
  isProxy: (address: string) => boolean,
): FastifyInstance {
  const { requestTimeout, http } = arrivalLimits(settings);
  const app = Fastify({
    ...options,
    requestTimeout,
    http: { ...http, ...options.http },
    frameworkErrors: refusePath,
    clientErrorHandler: refuseUnreadable,
    logController: new LogController({ disableRequestLogging: true }),
  }) as unknown as FastifyInstance;
  // So that a path refuses each of them by itself. Node never hands on CONNECT.
  for (const method of METHODS)
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  ignoreUpgrades(app);
  app.setValidatorCompiler(validated);
  // Rows come as bytes from ClickHouse, everything else is plain JSON.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  handleErrors(app, problemDialect);
  refuseUnclearHost(app);
  limitConnections(app, { ...settings, isProxy });
  return app;
}
