import type { FastifyInstance, FastifyReply } from 'fastify';
import { table, timeOfEvent } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import type { RuleTrialItem } from '../integrations/rule-trial.ts';
import { storedRules } from '../integrations/rules-schema.ts';
import { RequestRefused } from '../model/access.ts';
import type { Integration } from '../model/tables.ts';
import { type ProjectFrame, severityTag, type Visit } from './frame.ts';
import { integrationIdOf, ONE, pathOf } from './integration-paths.ts';
import { heading } from './integrations.ts';
import {
  fieldOf,
  type RulesTexts,
  rulesFields,
  rulesOfTexts,
  textsOfForm,
  textsOfRules,
} from './rules-form.ts';

interface RulesPageParts extends Pick<AlertDomain, 'integrations' | 'testAlerts'> {
  readonly frame: ProjectFrame;
}

/** The rules of an integration, with a trial on recent deliveries. */
export function serveRulesPage(pages: FastifyInstance, parts: RulesPageParts): void {
  const { frame, integrations, testAlerts } = parts;
  pages.get(`${ONE}/rules`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const integration = await integrations.get(visit.membership.project, integrationIdOf(request));
    const texts = textsOfRules(storedRules(integration.rules) ?? {});
    return sendRules(parts, reply, visit, integration, { texts });
  });
  pages.post(`${ONE}/rules`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const { project } = visit.membership;
    const integration = await integrations.get(project, integrationIdOf(request));
    const form = formOf(request);
    const texts = textsOfForm(form);
    try {
      const rules = rulesOfTexts(texts);
      if (form.text('step') === 'try') {
        const tried = await testAlerts.tryRules(visit.store, integration, rules);
        return await sendRules(parts, reply, visit, integration, { texts, tried });
      }
      await integrations.change(project, integration.id, { rules });
      return await seeOther(reply, `${pathOf(integration)}/rules`, 'Rules saved.');
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.status === 404) throw error;
      return sendRules(parts, reply, visit, integration, { texts, error });
    }
  });
}

interface Shown {
  readonly texts: RulesTexts;
  readonly tried?: readonly RuleTrialItem[];
  readonly error?: RequestRefused;
}

function sendRules(
  { frame }: RulesPageParts,
  reply: FastifyReply,
  visit: Visit,
  integration: Integration,
  { texts, tried, error }: Shown,
): Promise<FastifyReply> {
  const body = html`${heading(integration, 'rules')}
${error && fieldOf(error) === undefined && html`<p class="note bad" role="alert">${error.message}</p>`}
${tried && trialCard(tried)}
<section class="card"><h2>Rules</h2><p class="hint">Rules read the payloads of a sender that you cannot change. A path names a value of a payload: names separated by periods, list positions in brackets, other names in quotes, such as data.hosts[0]."first name". Rules do not apply to the Prometheus format.</p>
<form method="post" action="${pathOf(integration)}/rules">${visit.token}${rulesFields(texts, error)}
<div class="actions"><button name="step" value="save">Save rules</button><button class="second" name="step" value="try">Try on the last deliveries</button></div></form></section>`;
  return frame.send(reply, visit, {
    tab: 'integrations',
    title: `Rules of ${integration.name}`,
    body,
    status: error === undefined ? 200 : 422,
  });
}

const trialCard = (tried: readonly RuleTrialItem[]): Html =>
  html`<section class="card" role="status"><h2>Result for the last deliveries</h2><p class="hint">The rules are not saved yet. The trial assumes that no alert is open. Items with equal fingerprints are one alert.</p>
${table({
  caption: 'Tried deliveries',
  head: ['Time', 'Outcome', 'Title', 'Severity', 'Fingerprint', 'Labels'],
  rows: tried.map(({ at, outcome, item }) => [
    timeOfEvent(at),
    html`<span class="tag">${outcome}</span>`,
    item === null ? html`–` : html`${item.title}`,
    item === null ? html`–` : severityTag(item),
    html`<code>${item?.fingerprint.slice(0, 12) || '–'}</code>`,
    html`${Object.entries(item?.matchLabels ?? {}).map(([name, value]) => html`<span class="tag">${name}=${value.slice(0, 60)}</span> `)}`,
  ]),
  empty: 'No deliveries yet. Send one, or a test alert.',
})}</section>`;
