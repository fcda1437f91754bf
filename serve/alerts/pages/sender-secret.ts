import type { FastifyInstance } from 'fastify';
import { textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import type { Integration } from '../model/tables.ts';
import type { ProjectFrame } from './frame.ts';
import { integrationIdOf, ONE, pathOf } from './integration-paths.ts';

interface SenderSecretParts extends Pick<AlertDomain, 'integrations'> {
  readonly frame: ProjectFrame;
}

/** Takes the secret that a sender makes and signs with. */
export function serveSenderSecret(pages: FastifyInstance, { frame, integrations }: SenderSecretParts): void {
  pages.post(`${ONE}/secret`, async (request, reply) => {
    const { membership } = await frame.visit(request, reply, 'Maintainer');
    const secret = formOf(request).text('secret').trim();
    const { integration } = await integrations.resetKey(membership.project, integrationIdOf(request), secret);
    return seeOther(
      reply,
      pathOf(integration),
      'Secret saved. Requests that are signed with another one are refused.',
    );
  });
}

export const secretForm = (integration: Integration, token: Html): Html =>
  html`<form method="post" action="${pathOf(integration)}/secret">${token}
${textField({ name: 'secret', label: 'Client secret of the sender', type: 'password', hint: 'The sender makes it and signs each request with it. It replaces the key above, also for requests that name a key.' })}
<button class="second">Save secret</button></form>`;
