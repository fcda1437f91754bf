import { z } from 'zod';
import type { Registry } from '../../../ingest/chains/registry.ts';
import type { Parameter } from '../../metrics/parameters.ts';
import { type Html, html } from '../../pages/html.ts';
import { inWords, nameOfChain } from './cells.ts';
import type { FilterInput } from './filter-input.ts';
import type { FilterField, ListSource } from './list-page.ts';

const COMMON: readonly FilterField[] = [
  { name: 'relay_chain', label: 'Relay chain' },
  { name: 'chain', label: 'Chain' },
  { name: 'start_date', label: 'From' },
  { name: 'end_date', label: 'Until' },
];

interface FilterFormOf {
  readonly path: string;
  readonly source: ListSource;
  readonly fields: readonly FilterField[];
  readonly given: FilterInput;
  readonly registry: Registry;
}

/** The form above a table, with the parameters of the API; null if there are none. */
export function filterForm(form: FilterFormOf): Html | null {
  const { path, source, fields, given } = form;
  const common = COMMON.filter(({ name }) => !fields.some((field) => field.name === name));
  const shown = [...fields, ...common].flatMap((field) => {
    const parameter = source.filters.find(({ name }) => name === field.name);
    return parameter === undefined ? [] : [fieldOf(form, field, parameter)];
  });
  if (shown.length === 0) return null;
  const isFiltered = Object.keys(given.typed).length > 0;
  return html`<form class="filters" method="get" action="${path}" aria-label="Filters">${shown}
<div class="go"><button>Show</button>${isFiltered && html`<a class="button second" href="${path}">Clear</a>`}</div></form>`;
}

function fieldOf(form: FilterFormOf, field: FilterField, parameter: Parameter): Html {
  const { name, label, hint, choices } = field;
  const value = form.given.typed[name] ?? '';
  const fault = form.given.faults[name];
  const id = `f-${name}`;
  if (choices) return choicesOf(field, choices, value.split(','), fault);
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  const common = html`id="${id}" name="${name}"${described && html` aria-describedby="${described}"`}${fault && html` aria-invalid="true"`}`;
  return html`<div class="field${field.isLong && ' long'}"><label for="${id}">${label}</label>${field.options ? selectOf(common, field.options, value, (chain) => nameOfChain(chain, form.registry)) : control(form, parameter, common, value)}
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}${fault && html`<p class="fault" id="${id}-fault">${sentence(fault)}</p>`}</div>`;
}

function control(
  { source, registry }: FilterFormOf,
  { name, schema }: Parameter,
  common: Html,
  value: string,
): Html {
  if (schema instanceof z.ZodEnum) return selectOf(common, schema.options.map(String), value, inWords, 'All');
  if (schema instanceof z.ZodISODate) return html`<input ${common} type="date" value="${value}">`;
  if (name !== 'chain') {
    return html`<input ${common} value="${value}" autocomplete="off" autocapitalize="none" spellcheck="false">`;
  }
  const relays: readonly string[] = source.endpoint.relays;
  const chains = registry.chains.filter(({ relay_chain }) => relays.includes(relay_chain));
  const names = [...new Set(chains.map((chain) => chain.name))].sort();
  return selectOf(common, names, value, (chain) => nameOfChain(chain, registry), 'All');
}

/** Keeps an invalid value as an option, so that the visitor can see and change it. */
function selectOf(
  common: Html,
  options: readonly string[],
  value: string,
  nameOf: (option: string) => string,
  all?: string,
): Html {
  const known = value === '' || options.includes(value) ? options : [...options, value];
  return html`<select ${common}>${all !== undefined && html`<option value="">${all}</option>`}${known.map(
    (option) =>
      html`<option value="${option}"${option === value && html` selected`}>${options.includes(option) ? nameOf(option) : option}</option>`,
  )}</select>`;
}

function choicesOf(
  { name, label, hint }: FilterField,
  choices: readonly string[],
  chosen: readonly string[],
  fault: string | undefined,
): Html {
  return html`<fieldset class="field choices"${fault && html` aria-describedby="f-${name}-fault"`}><legend>${label}</legend>
${choices.map(
  (choice) =>
    html`<label><input type="checkbox" name="${name}" value="${choice}"${chosen.includes(choice) && html` checked`}> ${choice}</label>`,
)}${hint && html`<p class="hint">${hint}</p>`}${fault && html`<p class="fault" id="f-${name}-fault">${sentence(fault)}</p>`}</fieldset>`;
}

const sentence = (text: string) =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('?') ? '' : '.'}`;
