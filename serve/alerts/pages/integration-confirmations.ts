import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../infra/ports.ts';
import type { Confirmation } from '../../pages/confirmation.ts';
import { time } from '../../pages/fields.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import type { IntegrationWithKey } from '../integrations/integrations.ts';
import { typeOf } from '../integrations/types.ts';
import type { Integration } from '../model/tables.ts';
import { serveConfirmationPage } from './confirmation-page.ts';
import { ago, type ProjectFrame, type Visit } from './frame.ts';
import { integrationIdOf, ONE, pathOf } from './integration-paths.ts';

/** Redirects to the page that shows a new key once. */
export type ShowKey = (
  visit: Visit,
  reply: FastifyReply,
  created: IntegrationWithKey,
) => Promise<FastifyReply>;

interface IntegrationConfirmationParts extends Pick<AlertDomain, 'integrations' | 'receivedDeliveries'> {
  readonly frame: ProjectFrame;
  readonly clock: Clock;
}

/** The pages that ask before an integration is deleted or its key is reset. */
export function serveIntegrationConfirmations(
  pages: FastifyInstance,
  { frame, integrations, receivedDeliveries, clock }: IntegrationConfirmationParts,
  showKey: ShowKey,
): void {
  const shared = {
    tab: 'integrations' as const,
    find: (request: FastifyRequest, { membership }: Visit) =>
      integrations.get(membership.project, integrationIdOf(request)),
  };
  const factsOf = async (integration: Integration, { store }: Visit): Promise<Confirmation['facts']> => {
    const [last] = await receivedDeliveries.withStore(store).latest(integration, 1);
    return [
      ['Type', typeOf(integration).label],
      ['Created', time(integration.created_ms)],
      ['Last delivery', last === undefined ? 'Never' : ago(last.at, clock.now())],
    ];
  };
  serveConfirmationPage(pages, frame, {
    ...shared,
    path: `${ONE}/delete`,
    questionOf: async (integration, visit) => ({
      question: `Delete the integration ${integration.name}?`,
      facts: await factsOf(integration, visit),
      consequence:
        'Its URL and keys stop working immediately. Requests to it are refused. Existing alerts are kept. This cannot be undone.',
      submit: 'Delete integration',
      back: pathOf(integration),
    }),
    execute: async ({ id }, { membership: { project } }, reply) => {
      await integrations.delete(project, id);
      return seeOther(reply, `/projects/${project.id}/integrations`, 'Integration deleted.');
    },
  });
  serveConfirmationPage(pages, frame, {
    ...shared,
    path: `${ONE}/reset`,
    questionOf: async (integration, visit) => ({
      question: `Reset the key of ${integration.name}?`,
      facts: await factsOf(integration, visit),
      consequence:
        'All its keys stop working immediately. Requests are refused until the sender uses the new key. Rotate the key instead to replace it without a gap.',
      submit: 'Reset key',
      back: pathOf(integration),
    }),
    execute: async ({ id }, visit, reply) =>
      showKey(visit, reply, await integrations.resetKey(visit.membership.project, id)),
  });
}
