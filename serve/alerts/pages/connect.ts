import { copyable, copyButton } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { IntegrationType } from '../integrations/integration-type.ts';
import type { Snippet } from '../integrations/presets/preset.ts';
import { addressesOf, snippetsOf } from '../integrations/snippets.ts';
import { snsIntegration, urlWithKey } from '../integrations/sns.ts';
import type { IntegrationSummary } from '../model/tables.ts';

/** Placeholder of a key that cannot be shown again. */
const NO_KEY = 'AUTHORIZATION_KEY';

/** The URLs of an integration, and configurations for its senders. `key` is null after it was shown. */
export function connectCard(
  url: string,
  integration: Pick<IntegrationSummary, 'id' | 'type' | 'preset'>,
  type: IntegrationType,
  key: string | null,
): Html {
  const access = addressesOf(url, integration);
  const snippets = snippetsOf({ ...access, key: key ?? NO_KEY }, integration);
  const { hint, addresses } = shownAddresses(access, type, key ?? NO_KEY);
  return html`<section class="card"><h2>Connect your monitoring tool</h2>
<p class="hint spaced-below">${hint}</p>
${addresses.map(([id, name, address]) => html`<div class="field"><b>${name}</b>${copyable(id, address, `URL for ${name}`)}</div>`)}
${snippets.map((snippet, i) => snippetBox(snippet, i === 0))}
${key === null && html`<p class="hint">Replace ${NO_KEY} with the authorization key. The key was shown once, when it was created. If you do not have it, rotate it.</p>`}</section>`;
}

interface ShownAddresses {
  readonly hint: string;
  readonly addresses: readonly (readonly [id: string, name: string, url: string])[];
}

function shownAddresses(
  { generic, prometheus, pagerduty }: ReturnType<typeof addressesOf>,
  { endpoint, name }: IntegrationType,
  key: string,
): ShownAddresses {
  if (name === snsIntegration.name) {
    return {
      hint: 'Subscribe this endpoint with the protocol HTTPS and without raw message delivery. It contains the key.',
      addresses: [['address', 'Amazon SNS', urlWithKey(generic, key)]],
    };
  }
  if (endpoint.parser === 'pagerduty') {
    return {
      hint: 'All integrations of this type share this address. The routing key of an event selects the integration.',
      addresses: [['address', 'PagerDuty Events API v2', pagerduty]],
    };
  }
  const ofTools = ['JSON of any tool', generic] as const;
  const ofPrometheus = ['Alertmanager, Grafana', prometheus] as const;
  const [first, second] =
    endpoint.parser === 'prometheus' ? [ofPrometheus, ofTools] : [ofTools, ofPrometheus];
  return {
    hint: 'Both addresses accept both formats with the same key.',
    addresses: [
      ['address', ...first],
      ['second-address', ...second],
    ],
  };
}

/** One is open at a time. */
const snippetBox = ({ name, title, hint, text }: Snippet, isOpen: boolean): Html =>
  html`<details class="setup" name="snippet"${isOpen && html` open`}><summary>${title}</summary><p class="hint">${hint}</p>
<div class="code"><pre class="payload" id="snippet-${name}" tabindex="0">${text}</pre>${copyButton(`snippet-${name}`, title)}</div></details>`;
