import { copyable, copyButton } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { IntegrationType } from '../integrations/integration-type.ts';
import { addressesOf, type Snippet, snippetsOf } from '../integrations/snippets.ts';

/** Stands for a key that cannot be shown again. */
const NO_KEY = 'AUTHORIZATION_KEY';

/** Both addresses of an integration, and whole configurations of its senders; `key` is null after it was shown. */
export function connectCard(
  url: string,
  integration: { readonly id: string },
  type: IntegrationType,
  key: string | null,
): Html {
  const addresses = addressesOf(url, integration);
  const [first, second] =
    type.endpoint.parser === 'prometheus'
      ? ([addresses.prometheus, addresses.generic] as const)
      : ([addresses.generic, addresses.prometheus] as const);
  const snippets = snippetsOf({ ...addresses, key: key ?? NO_KEY }, type);
  const names = { [addresses.generic]: 'JSON of any tool', [addresses.prometheus]: 'Alertmanager, Grafana' };
  return html`<section class="card"><h2>Connect your monitoring tool</h2>
<p class="hint spaced-below">Both addresses take both formats, with the same key.</p>
<div class="field"><b>${names[first]}</b>${copyable('address', first, `URL for ${names[first]}`)}</div>
<div class="field"><b>${names[second]}</b>${copyable('second-address', second, `URL for ${names[second]}`)}</div>
${snippets.map((snippet, i) => snippetBox(snippet, i === 0))}
${key === null && html`<p class="hint">Put the authorization key in the place of ${NO_KEY}. It was shown when it was created; rotate it if you do not have it.</p>`}</section>`;
}

/** One is open at a time. */
const snippetBox = ({ name, title, hint, text }: Snippet, isOpen: boolean): Html =>
  html`<details class="setup" name="snippet"${isOpen && html` open`}><summary>${title}</summary><p class="hint">${hint}</p>
<div class="code"><pre class="payload" id="snippet-${name}" tabindex="0">${text}</pre>${copyButton(`snippet-${name}`, title)}</div></details>`;
