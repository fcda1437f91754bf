import type { Form } from '../../http/form.ts';
import { textField } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { DestinationType, MessageTemplate } from '../messages/destination.ts';
import { FULL_SAMPLE } from '../messages/template-data.ts';
import {
  checkTemplate,
  NO_TEMPLATE,
  renderBody,
  renderTexts,
  TEMPLATE_PARTS,
  type TemplatePart,
} from '../messages/templates.ts';

const LABELS: Readonly<Record<TemplatePart, { readonly label: string; readonly rows: number }>> = {
  title: { label: 'Title', rows: 2 },
  text: { label: 'Text', rows: 6 },
  body: { label: 'Body as JSON', rows: 10 },
};

/** The template in a form, for the parts of the type. */
export const templateIn = (form: Form, type: DestinationType): MessageTemplate => ({
  ...NO_TEMPLATE,
  ...Object.fromEntries(TEMPLATE_PARTS[type].map((part) => [part, form.text(`template-${part}`).trim()])),
});

/** Fields for the parts of the type. */
export function templateFields(
  type: DestinationType,
  template: MessageTemplate | null,
  faultOf: (field: string) => string | null,
): Html {
  const fields = TEMPLATE_PARTS[type].map((part) =>
    textField({
      ...{ name: `template-${part}`, ...LABELS[part], required: false },
      value: template?.[part] ?? '',
      hint: 'Leave it empty for the built-in one.',
      fault: faultOf(`template.${part}`),
    }),
  );
  const hasTemplate = template !== null || TEMPLATE_PARTS[type].some((part) => faultOf(`template.${part}`));
  return html`<details class="spaced-below"${hasTemplate && html` open`}><summary>Own texts</summary>
<p class="hint">Mustache, such as <code>{{alert.title}}</code>, <code>{{alert.severity}}</code>, <code>{{#alerts}}…{{/alerts}}</code>. The <a href="/docs/guides/on-call#own-texts">guide</a> lists the names.</p>${fields}</details>`;
}

/** A rendered sample of a template, with a warning about unknown names. */
export function templatePreview(type: DestinationType, template: MessageTemplate): Html {
  const unknown = checkTemplate(template, type);
  const texts = renderTexts(template, type, FULL_SAMPLE);
  const shown = template.body === '' ? '' : JSON.stringify(renderBody(template.body, FULL_SAMPLE), null, 2);
  return html`<section class="card"><h2>Sample</h2><p>A message about two alerts looks like this.</p>
${unknown.length > 0 && html`<p class="note warn">These names do not exist and are left empty: ${unknown.join(', ')}.</p>`}
${texts.title !== undefined && html`<h3>Title</h3><pre><code>${texts.title}</code></pre>`}
${texts.text !== undefined && html`<h3>Text</h3><pre><code>${texts.text}</code></pre>`}
${shown !== '' && html`<h3>Body</h3><pre><code>${shown}</code></pre>`}</section>`;
}
