/** Converts between the controls of a chart and URLs. */
import {
  type ChartState,
  chartQuery,
  chartStateOf,
  DEFAULT_STATE,
  HIDDEN,
  type Range,
} from '../model/chart-state.ts';

/** Controls that change only the drawing, not the data. */
export const DRAWING_NAMES: ReadonlySet<string> = new Set(['style', 'log', 'mean', 'indexed']);
const STATE_NAMES: readonly string[] = [
  'range',
  'from',
  'until',
  'per',
  'style',
  'money',
  'indexed',
  'log',
  'mean',
];

export interface Controls {
  readonly form: HTMLFormElement;
  /** State of a URL without parameters. */
  readonly defaults: ChartState;
}

/** The controls of a section. `data-defaults` contains the defaults of its page as a query string. */
export function controlsOf(section: Element): Controls | null {
  const form = section.querySelector<HTMLFormElement>('form[data-controls]');
  if (form === null) return null;
  const defaults = new URLSearchParams(form.dataset.defaults ?? '');
  return { form, defaults: chartStateOf(defaults) };
}

export const stateOf = (controls: Controls | null): ChartState =>
  controls === null
    ? chartStateOf(new URLSearchParams(location.search))
    : chartStateOf(queryOf(controls.form), controls.defaults);

/** The URL for the current controls, optionally with another range. */
export function addressOf(
  { form, defaults }: Controls,
  hidden: ReadonlySet<string>,
  change: { readonly range?: ChartState['range']; readonly submitter?: HTMLElement | null } = {},
): URL {
  const given = queryOf(form, change.submitter);
  const state = chartStateOf(given, defaults);
  const query = new URLSearchParams();
  for (const [name, value] of given) if (!STATE_NAMES.includes(name)) query.append(name, value);
  const chosen = change.range === undefined ? state : { ...state, range: change.range };
  for (const [name, value] of chartQuery(chosen, defaults)) query.append(name, value);
  for (const id of hidden) query.append(HIDDEN, id);
  const address = new URL(form.action);
  address.search = query.toString();
  return address;
}

/** The range of a chart after its zoom is reset. */
export const presetOf = (controls: Controls | null): Range => {
  const { range } = controls?.defaults ?? DEFAULT_STATE;
  return typeof range === 'string' ? range : '180d';
};

/** The current URL with these series hidden. */
export function addressHiding(hidden: ReadonlySet<string>): URL {
  const address = new URL(location.href);
  address.searchParams.delete(HIDDEN);
  for (const id of hidden) address.searchParams.append(HIDDEN, id);
  return address;
}

function queryOf(form: HTMLFormElement, submitter: HTMLElement | null = null): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form, submitter)) {
    if (typeof value === 'string' && value !== '') query.append(name, value);
  }
  return query;
}
