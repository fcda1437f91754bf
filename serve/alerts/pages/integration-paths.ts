import type { FastifyRequest } from 'fastify';
import type { IntegrationSummary } from '../model/tables.ts';

/** Route of the page of one integration. */
export const ONE = '/projects/:id/integrations/:integration';

export const integrationIdOf = (request: FastifyRequest) =>
  (request.params as { integration: string }).integration;

export const pathOf = ({ project_id, id }: IntegrationSummary) =>
  `/projects/${project_id}/integrations/${id}`;
