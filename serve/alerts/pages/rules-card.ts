import type { SenderRules } from '../../../aggregate/alerts/model/sender-rules.ts';
import { type Html, html } from '../../pages/html.ts';
import { formatPath } from '../integrations/path-syntax.ts';
import { presetOf } from '../integrations/presets/presets.ts';
import { storedRules } from '../integrations/rules-schema.ts';
import type { Integration } from '../model/tables.ts';
import { pathOf } from './integration-paths.ts';

/** The rules on the page of an integration. */
export function rulesCard(integration: Integration): Html {
  const rules = storedRules(integration.rules);
  const preset = presetOf(integration);
  return html`<section class="card"><h2>Rules</h2>${preset && html`<p>For payloads of ${preset.label}.</p>`}
${rules === null ? html`<p class="empty">No rules: the fields of a payload are read by their names.</p>` : html`<dl class="facts">${factsOf(rules).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`}
<a class="button second" href="${pathOf(integration)}/rules">Edit and try rules</a></section>`;
}

function factsOf({ tool, fields, status, fingerprint, severity, labels }: SenderRules): [string, string][] {
  const listed = (words: readonly string[] | undefined) => (words ?? []).join(', ');
  const words = Object.entries(severity?.words ?? {}).map(([word, name]) => `${word} is ${name}`);
  const facts: [string, string][] = [
    ['Monitoring tool', tool ?? ''],
    [
      'Fields',
      Object.entries(fields ?? {})
        .map(([name, paths]) => `${name}: ${paths.map(formatPath).join(' or ')}`)
        .join('; '),
    ],
    ['Status', status ? formatPath(status.path) : ''],
    ['Resolved', listed(status?.resolved)],
    ['Acknowledged', listed(status?.acknowledged)],
    ['Ignored', listed(status?.ignored)],
    ['Fingerprint', (fingerprint ?? []).map((paths) => paths.map(formatPath).join(' with ')).join(', or ')],
    [
      'Severity',
      severity
        ? [`${formatPath(severity.path)}: ${words.join(', ')}`, `otherwise ${severity.otherwise}`].join('; ')
        : '',
    ],
    [
      'Labels',
      Object.entries(labels ?? {})
        .map(([name, path]) => `${name}: ${formatPath(path)}`)
        .join('; '),
    ],
  ];
  return facts.filter(([, value]) => value !== '');
}
