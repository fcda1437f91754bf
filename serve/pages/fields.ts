import { SCOPE_NAMES, SCOPES } from '../accounts/scopes.ts';
import { type Html, html } from './html.ts';
import { wideTable } from './wide-table.ts';

interface TextField {
  readonly name: string;
  /** Set it if the page has several fields of the same name. */
  readonly id?: string;
  readonly label: string;
  readonly value?: string | undefined;
  readonly hint?: string;
  /** Why the value was refused. */
  readonly fault?: string | null | undefined;
  readonly type?: 'text' | 'password' | 'email' | 'date' | 'datetime-local' | 'time' | 'number';
  /** The id of a `<datalist>`. */
  readonly list?: string;
  readonly autocomplete?: string;
  readonly required?: boolean;
  /** For verification codes. */
  readonly isCode?: boolean;
  readonly rows?: number;
  /** Whether the browser may check the spelling. */
  readonly isProse?: boolean;
}

/** A labelled field; hint and error are linked to it for screen readers. */
export function textField(field: TextField): Html {
  const {
    name,
    id = name,
    label,
    value = '',
    hint,
    fault,
    type = 'text',
    autocomplete,
    rows,
    isCode,
    isProse,
    list,
  } = field;
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  const common = html`id="${id}" name="${name}"${described && html` aria-describedby="${described}"`}${fault && html` aria-invalid="true" autofocus`}${field.required !== false && html` required`}`;
  const input =
    rows === undefined
      ? html`<input ${common} type="${type}" value="${type === 'password' ? '' : value}" autocomplete="${autocomplete ?? 'off'}"${list && html` list="${list}"`}${isCode && html` inputmode="numeric" class="code" autocapitalize="none" spellcheck="false"`}>`
      : html`<textarea ${common} rows="${rows}"${!isProse && html` spellcheck="false"`}>${value}</textarea>`;
  return html`<div class="field"><label for="${id}">${label}</label>${input}
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}${fault && html`<p class="fault" id="${id}-fault">${fault}</p>`}</div>`;
}

/** Checkboxes for scopes with their descriptions. */
export function scopeField(chosen: readonly string[], fault: string | null): Html {
  return html`<fieldset class="field"${fault && html` aria-describedby="scopes-fault"`}><legend>Scopes</legend>
${SCOPE_NAMES.map(
  (
    scope,
    i,
  ) => html`<label class="choice"><input type="checkbox" name="scopes" value="${scope}"${chosen.includes(scope) && html` checked`}${fault && i === 0 && html` autofocus`}>
<div><b>${scope}</b> · ${SCOPES[scope].title}<span>${SCOPES[scope].detail}</span></div></label>`,
)}${fault && html`<p class="fault" id="scopes-fault">${fault}</p>`}</fieldset>`;
}

/** A time to the minute; 0 means never. */
export const time = (ms: number): Html => (ms === 0 ? html`Never` : written(ms, MINUTE_FORMAT));

/** A time to the second, for events in quick succession. */
export const timeOfEvent = (ms: number): Html => written(ms, SECOND_FORMAT);

function written(ms: number, format: Intl.DateTimeFormat): Html {
  const iso = new Date(ms).toISOString();
  return html`<time datetime="${iso}" title="${iso}">${format.format(ms)} UTC</time>`;
}

const MINUTE = {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
} as const;
const MINUTE_FORMAT = new Intl.DateTimeFormat('en-GB', MINUTE);
const SECOND_FORMAT = new Intl.DateTimeFormat('en-GB', { ...MINUTE, second: '2-digit' });

export const tags = (names: readonly string[]): Html =>
  html`${names.map((name) => html`<span class="tag">${name}</span>`)}`;

interface TableContent {
  readonly caption: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly Html[])[];
  /** Shown if there are no rows. */
  readonly empty: string;
  /** Titles of the numeric columns, which are aligned to the right. */
  readonly numbers?: readonly string[];
}

/** A table with row headers in its first column and actions in its last. */
export function table({ caption, head, rows, empty, numbers = [] }: TableContent): Html {
  const lookOf = (i: number) =>
    numbers.includes(head[i] ?? '')
      ? html` class="number"`
      : i > 0 && i === head.length - 1 && html` class="end"`;
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  return wideTable(
    caption,
    html`<table>
<thead><tr>${head.map((title, i) => html`<th scope="col"${lookOf(i)}>${title || html`<span class="unseen">Actions</span>`}</th>`)}</tr></thead>
<tbody>${rows.map(
      (row) =>
        html`<tr>${row.map((cell, i) =>
          i === 0 ? html`<th scope="row">${cell}</th>` : html`<td${lookOf(i)}>${cell}</td>`,
        )}</tr>`,
    )}</tbody></table>`,
  );
}

/** A form with a single button. `label` distinguishes buttons with the same text. */
export function button(
  action: string,
  token: Html,
  text: string,
  label: string,
  look = 'danger small',
): Html {
  return html`<form method="post" action="${action}">${token}<button class="${look}" aria-label="${label}">${text}</button></form>`;
}

/** A card with a title, a form and its submit button. */
export function formCard(card: {
  readonly title: string;
  readonly action: string;
  readonly token: Html;
  readonly fields: Html;
  readonly submit: string;
}): Html {
  const { title, action, token, fields, submit } = card;
  return html`<section class="card"><h2>${title}</h2><form method="post" action="${action}">${token}
${fields}
<button>${submit}</button></form></section>`;
}

/** Shows a new secret, once. */
export function secretCard(title: string, secret: string): Html {
  return html`<section class="card" aria-live="polite"><h2>${title}</h2>
<p class="note warn">Save it now. You cannot view it again.</p>
${copyable('secret', secret, title)}</section>`;
}

/** A line of text with a copy button. The page must load a script that imports `copy.js`. */
export const copyable = (id: string, text: string, what: string): Html =>
  html`<div class="copyable"><code class="secret" id="${id}">${text}</code>${copyButton(id, what)}</div>`;

/** Hidden until `copy.js` shows it. */
export const copyButton = (id: string, what: string): Html =>
  html`<button type="button" class="second small" data-copy="${id}" aria-label="Copy ${what}" hidden>Copy</button>`;
