import type { FastifyInstance, FastifyReply } from 'fastify';
import { formCard, textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { RequestRefused } from '../model/access.ts';
import type { Integration } from '../model/tables.ts';
import type { ProjectFrame, Visit } from './frame.ts';
import { integrationIdOf, ONE, pathOf } from './integration-paths.ts';

interface SenderSecretParts extends Pick<AlertDomain, 'integrations'> {
  readonly frame: ProjectFrame;
}

/** Saves the secret with which a sender signs. */
export function serveSenderSecret(pages: FastifyInstance, { frame, integrations }: SenderSecretParts): void {
  pages.get(`${ONE}/secret`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const integration = await integrations.get(visit.membership.project, integrationIdOf(request));
    return sendForm(frame, reply, visit, integration, null);
  });
  pages.post(`${ONE}/secret`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const { project } = visit.membership;
    const integration = await integrations.get(project, integrationIdOf(request));
    try {
      await integrations.resetKey(project, integration.id, formOf(request).text('secret').trim());
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      return sendForm(frame, reply, visit, integration, error.message);
    }
    return seeOther(reply, pathOf(integration), 'Secret saved. Requests with another signature are refused.');
  });
}

function sendForm(
  frame: ProjectFrame,
  reply: FastifyReply,
  visit: Visit,
  integration: Integration,
  fault: string | null,
): Promise<FastifyReply> {
  const title = `Client secret of ${integration.name}`;
  const body = html`<h1>${title}</h1>${formCard({
    title: 'Secret',
    action: `${pathOf(integration)}/secret`,
    token: visit.token,
    fields: textField({
      name: 'secret',
      label: 'Client secret',
      type: 'password',
      hint: 'The sender creates this secret and signs each request with it. It replaces the key of the integration.',
      fault,
    }),
    submit: 'Save secret',
  })}<p><a href="${pathOf(integration)}">Back to the integration</a></p>`;
  return frame.send(reply, visit, {
    tab: 'integrations',
    title,
    body,
    status: fault === null ? 200 : 422,
  });
}
