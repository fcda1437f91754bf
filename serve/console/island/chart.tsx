/**
 * Charts that answer to their reader. The server sends a section that is complete without this script:
 *
 *     <section data-chart>
 *       <form data-controls method="get" data-defaults="range=365d">controls named as in an address, and a submit button</form>
 *       <figure data-plot data-source="/api/series?…" data-title="Transactions"><svg>…</svg></figure>
 *       <ul data-legend><li data-series="ID">Name</li></ul>
 *     </section>
 *
 * The figure becomes a canvas and the legend a row of switches. What changes the drawing alone is drawn at once. What
 * changes the data gets the page of the new address and exchanges the section for the one there, so that tables,
 * downloads and texts come from one place, the server. Without controls a chart is only looked at.
 */
import 'uplot/dist/uPlot.min.css';
import './chart.css';
import { render } from 'preact';
import type { SeriesAnswer } from '../chart-state.ts';
import { hasValues, isoDay, periodEnd, periodName } from '../drawing.ts';
import {
  addressHiding,
  addressOf,
  type Controls,
  controlsOf,
  DRAWING_NAMES,
  hiddenOf,
  presetOf,
  stateOf,
} from './address.ts';
import { type ChartModel, chartModel } from './model.ts';
import { chartSections, keptOf, pageOf, restore } from './sections.ts';
import { ChartView, LegendView } from './view.tsx';

/** Dates change with every digit that is typed. */
const DATE_MS = 700;

interface Loaded {
  readonly answer: SeriesAnswer;
  readonly isDemo: boolean;
}

const voice = document.createElement('p');
voice.className = 'chart-words';
voice.setAttribute('role', 'status');
document.body.append(voice);
const say = (text: string): void => {
  voice.textContent = text;
};

/** What ends the charts that are shown, with their sections. */
let shown: (() => void)[] = [];
let request = new AbortController();
let shownAddress = addressWithoutHash(location.href);
/** The range before the first zoom. */
let before: ReturnType<typeof stateOf>['range'] | null = null;

function addressWithoutHash(href: string): string {
  return href.split('#', 1)[0] ?? href;
}

/** The data of a section; null if its figure has none. */
async function load(section: Element, signal?: AbortSignal): Promise<Loaded | null> {
  const source = section.querySelector<HTMLElement>('figure[data-plot]')?.dataset.source;
  if (!source) return null;
  const answer = await fetch(source, { ...(signal && { signal }), headers: { accept: 'application/json' } });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return { answer: (await answer.json()) as SeriesAnswer, isDemo: answer.headers.has('x-demo-data') };
}

/** Makes a section answer to its reader. Returns what ends that. */
function mount(section: HTMLElement, loaded: Loaded | null): () => void {
  const controls = controlsOf(section);
  const figure = section.querySelector<HTMLElement>('figure[data-plot]');
  // Without values the server says why, in the words of its page.
  const model =
    loaded && hasValues(loaded.answer) ? modelOf(loaded, figure?.dataset.title ?? '', controls) : null;
  if (controls) listen(controls, model);
  const legend = section.querySelector<HTMLElement>('[data-legend]');
  if (model === null || figure === null) return () => {};
  figure.replaceChildren();
  render(<ChartView model={model} />, figure);
  if (legend) {
    legend.replaceChildren();
    legend.classList.add('legend');
    render(<LegendView model={model} />, legend);
  }
  return () => {
    render(null, figure);
    if (legend) render(null, legend);
  };
}

function modelOf(loaded: Loaded, title: string, controls: Controls | null): ChartModel {
  const { per, start } = loaded.answer;
  const hidden = hiddenOf(new URLSearchParams(location.search));
  const model: ChartModel = chartModel(
    {
      ...loaded,
      title,
      actions: {
        say,
        toggle: (id) => {
          const next = new Set(model.hidden.value);
          if (!next.delete(id)) next.add(id);
          model.hidden.value = next;
          if (controls) replaceAddress(addressHiding(next));
          say(
            `${loaded.answer.series.find((one) => one.id === id)?.title} is switched ${next.has(id) ? 'off' : 'on'}.`,
          );
        },
        zoom: (from, until) => {
          if (controls === null) return;
          before ??= model.state.value.range;
          const range = {
            from: isoDay(model.drawing.value.times[from] ?? 0),
            until: isoDay(periodEnd(start, per, until)),
          };
          show(addressOf(controls, model.hidden.value, { range }));
        },
        reset: () => {
          const { range } = model.state.value;
          if (controls === null || typeof range === 'string') return;
          const back =
            before !== null && JSON.stringify(before) !== JSON.stringify(range) ? before : presetOf(controls);
          before = null;
          show(addressOf(controls, model.hidden.value, { range: back }));
        },
      },
    },
    stateOf(controls),
    hidden,
  );
  return model;
}

/** The controls of a section; the button that shows their choice without a script is not needed. */
function listen(controls: Controls, model: ChartModel | null): void {
  const { form } = controls;
  for (const one of form.querySelectorAll<HTMLButtonElement>('button:not([type="button"], [name])'))
    one.hidden = true;
  let waiting = 0;
  const follow = (submitter: HTMLElement | null = null) => {
    clearTimeout(waiting);
    if (!form.reportValidity()) return;
    before = null;
    show(addressOf(controls, model?.hidden.value ?? new Set(), { submitter }));
  };
  form.addEventListener('change', ({ target }) => {
    const { name, type } = target as HTMLInputElement;
    if (name === '') return;
    if (name === 'range') clearDays(form);
    if (model !== null && DRAWING_NAMES.has(name)) return redraw(controls, model);
    clearTimeout(waiting);
    if (type !== 'date') return follow();
    if (fillDays(form, model)) waiting = setTimeout(follow, DATE_MS);
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { name } = (event.submitter ?? {}) as { readonly name?: string };
    if (name === 'range') clearDays(form);
    follow(event.submitter);
  });
}

const dayField = (form: HTMLFormElement, name: string) =>
  form.querySelector<HTMLInputElement>(`input[name="${name}"]`);

/** A preset and own days exclude each other. */
function clearDays(form: HTMLFormElement): void {
  for (const name of ['from', 'until']) {
    const field = dayField(form, name);
    if (field) field.value = '';
  }
}

/** Own days are two: the one that is not given is the one that is shown. Whether they are in order. */
function fillDays(form: HTMLFormElement, model: ChartModel | null): boolean {
  const [from, until] = [dayField(form, 'from'), dayField(form, 'until')];
  if (from === null || until === null) return false;
  if (from.value === '' && until.value === '') return true;
  if (model) {
    const { start, per, periods } = model.answer;
    if (from.value === '') from.value = start;
    if (until.value === '') until.value = isoDay(periodEnd(start, per, periods - 1));
  }
  until.setCustomValidity(from.value > until.value ? 'The last day is before the first one.' : '');
  return from.value !== '' && until.value !== '' && until.reportValidity();
}

function redraw(controls: Controls, model: ChartModel): void {
  model.state.value = stateOf(controls);
  history.pushState(null, '', addressOf(controls, model.hidden.value));
  shownAddress = addressWithoutHash(location.href);
  say(['The chart was drawn again.', ...model.drawing.value.notes].join(' '));
}

function replaceAddress(address: URL): void {
  history.replaceState(null, '', address);
  shownAddress = addressWithoutHash(location.href);
}

/** Exchanges the sections for those of an address. What goes wrong is left to the browser, which shows it. */
async function show(address: URL, isBack = false): Promise<void> {
  request.abort();
  request = new AbortController();
  const { signal } = request;
  const sections = chartSections(document);
  for (const section of sections) section.setAttribute('aria-busy', 'true');
  try {
    const page = await pageOf(address, sections.length, signal);
    const fresh = chartSections(page);
    const loaded = await Promise.all(fresh.map((section) => load(section, signal)));
    if (!isBack) history.pushState(null, '', address);
    shownAddress = addressWithoutHash(address.href);
    document.title = page.title;
    const kept = sections.map(keptOf);
    for (const end of shown) end();
    shown = fresh.map((section, i) => {
      sections[i]?.replaceWith(document.adoptNode(section));
      return mount(section, loaded[i] ?? null);
    });
    fresh.forEach((section, i) => {
      restore(section, kept[i] as ReturnType<typeof keptOf>);
    });
    say(toldRange(loaded[0] ?? null));
  } catch {
    if (!signal.aborted) location.assign(address);
  }
}

function toldRange(loaded: Loaded | null): string {
  if (loaded === null || !hasValues(loaded.answer)) return 'There are no values to draw.';
  const { per, start, periods, series } = loaded.answer;
  const count = series.length === 1 ? 'one series' : `${series.length} series`;
  const day = (at: number) => periodName(at, 'day');
  return `The chart shows ${count} by ${per}, ${day(Date.parse(start))} until ${day(periodEnd(start, per, periods - 1))}.`;
}

async function start(): Promise<void> {
  shown = await Promise.all(
    chartSections(document).map(async (section) => {
      try {
        return mount(section, await load(section));
      } catch {
        // The chart that the server drew stays.
        return mount(section, null);
      }
    }),
  );
  addEventListener('popstate', () => {
    // A step within the page is not a change of the chart.
    if (addressWithoutHash(location.href) !== shownAddress) show(new URL(location.href), true);
  });
}

await start();
