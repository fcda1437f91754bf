import { METHODS, type Server } from 'node:http';
import Fastify, { type FastifyHttpOptions, type FastifyInstance, LogController } from 'fastify';
import { arrivalLimits, type ConnectionSettings, limitConnections } from './connections.ts';
import { problemDialect } from './dialects.ts';
import { handleErrors } from './errors.ts';
import { refuseInvalidHost } from './host-header.ts';
import { refusePath, refuseUnreadable } from './refusals.ts';
import { ignoreUpgrades } from './upgrades.ts';
import { validatorCompiler } from './validation.ts';

/** Creates a server without routes: the connection limits and error handling that all servers of a process share. */
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
  // Registered so that `refuseOtherMethods` can answer 405 for them. Node never emits CONNECT as a request.
  for (const method of METHODS)
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  ignoreUpgrades(app);
  app.setValidatorCompiler(validatorCompiler);
  // ClickHouse renders rows as bytes; everything else is plain JSON.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  handleErrors(app, problemDialect);
  refuseInvalidHost(app);
  limitConnections(app, { ...settings, isProxy });
  return app;
}
