import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Clock } from '../../../infra/ports.ts';
import { type Confirmation, confirmation, isConfirmed } from '../../pages/confirmation.ts';
import { time } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import type { IntegrationWithKey } from '../integrations/integrations.ts';
import { typeOf } from '../integrations/types.ts';
import type { Integration, Project } from '../model/tables.ts';
import { ago, type ProjectFrame, type Visit } from './frame.ts';
import { integrationIdOf, ONE, pathOf } from './integration-paths.ts';

/** Sends the user on to the page that shows a new key once. */
export type ShowKey = (visit: Visit, reply: FastifyReply, made: IntegrationWithKey) => Promise<FastifyReply>;

interface End {
  readonly path: string;
  readonly asked: (integration: Integration) => Pick<Confirmation, 'question' | 'consequence' | 'submit'>;
  readonly work: (visit: Visit, reply: FastifyReply, project: Project, id: string) => Promise<FastifyReply>;
}

interface IntegrationEndParts extends Pick<AlertDomain, 'integrations' | 'receivedDeliveries'> {
  readonly frame: ProjectFrame;
  readonly clock: Clock;
}

/** What ends an integration or its keys asks first; a form that was not asked for changes nothing. */
export function serveIntegrationEnds(
  pages: FastifyInstance,
  parts: IntegrationEndParts,
  showKey: ShowKey,
): void {
  const { integrations } = parts;
  serveEnd(pages, parts, {
    path: `${ONE}/delete`,
    asked: ({ name }) => ({
      question: `Delete the integration ${name}?`,
      consequence:
        'Its addresses and keys stop working immediately: what is sent to them is refused. Existing alerts are kept. This cannot be undone.',
      submit: 'Delete integration',
    }),
    work: async (_visit, reply, project, id) => {
      await integrations.delete(project, id);
      return seeOther(reply, `/projects/${project.id}/integrations`, 'Integration deleted.');
    },
  });
  serveEnd(pages, parts, {
    path: `${ONE}/reset`,
    asked: ({ name }) => ({
      question: `Reset the key of ${name}?`,
      consequence:
        'All its keys stop working immediately: what is sent with them is refused until the sender has the new one. Rotate the key instead to change senders without a gap.',
      submit: 'Reset key',
    }),
    work: async (visit, reply, project, id) =>
      showKey(visit, reply, await integrations.resetKey(project, id)),
  });
}

function serveEnd(pages: FastifyInstance, parts: IntegrationEndParts, { path, asked, work }: End): void {
  const { frame, integrations, receivedDeliveries, clock } = parts;
  const ask = async (reply: FastifyReply, visit: Visit, status: number) => {
    const { request } = reply;
    const integration = await integrations.get(visit.membership.project, integrationIdOf(request));
    const [last] = await receivedDeliveries.as(visit.store).latest(integration, 1);
    const words = asked(integration);
    const body = confirmation({
      ...words,
      facts: [
        ['Type', typeOf(integration).label],
        ['Created', time(integration.created_ms)],
        ['Last delivery', last === undefined ? 'Never' : ago(last.at, clock.now())],
      ],
      action: `${pathOf(integration)}/${path.split('/').at(-1)}`,
      token: visit.token,
      back: pathOf(integration),
    });
    return frame.send(reply, visit, { tab: 'integrations', title: words.submit, body, status });
  };
  pages.get(path, async (request, reply) => ask(reply, await frame.visit(request, reply, 'Maintainer'), 200));
  pages.post(path, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    if (!isConfirmed(formOf(request))) return ask(reply, visit, 422);
    return work(visit, reply, visit.membership.project, integrationIdOf(request));
  });
}
