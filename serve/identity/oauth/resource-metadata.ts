import type { FastifyInstance } from 'fastify';
import { apiResource, RESOURCE_METADATA_PATH } from '../../accounts/resource.ts';
import type { Scope } from '../../accounts/scopes.ts';

/** The scopes that endpoints of the API ask for. */
const API_SCOPES: readonly Scope[] = ['api', 'read_user'];

/**
 * RFC 9728: the metadata of our API, from which a client learns where to get tokens for it. Also served at
 * the address without the path of the resource: clients try it if no response of the API named the full address.
 */
export function serveResourceMetadata(app: FastifyInstance, issuer: () => string): void {
  for (const path of [`${RESOURCE_METADATA_PATH}/api`, RESOURCE_METADATA_PATH]) {
    app.get(path, async () => {
      const base = issuer();
      return {
        resource: apiResource(base),
        authorization_servers: [base],
        scopes_supported: API_SCOPES,
        bearer_methods_supported: ['header', 'query'],
        resource_name: 'Chain Metrics API',
        resource_documentation: `${base}/docs`,
      };
    });
  }
}
