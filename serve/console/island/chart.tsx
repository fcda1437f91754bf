/**
 * Interactive charts. The server sends sections that are complete without this script:
 *
 *     <section data-chart>
 *       <form data-controls method="get">controls whose names are URL parameters, and a submit button</form>
 *       <figure data-plot data-source="/api/series?…" data-title="Transactions" data-colours="2 0"><svg>…</svg></figure>
 *       <ul data-legend><li data-series="ID"><bdi>Name</bdi> <b>value</b></li></ul>
 *     </section>
 *
 * The script replaces the figure by a canvas and the legend by toggles. A control that changes only the drawing redraws
 * it. A control that changes the data fetches the page of the new URL and replaces the card of the chart, so that tables,
 * downloads and texts all come from the server. A chart without controls keeps its data.
 */
import 'uplot/dist/uPlot.min.css';
import './chart.css';
import { render } from 'preact';
import { isoDay } from '../../../infra/days.ts';
import { hiddenIn, type SeriesAnswer } from '../model/chart-state.ts';
import { hasValues, periodEnd, periodName } from '../model/drawing.ts';
import { addressHiding, addressOf, type Controls, controlsOf, presetOf, stateOf } from './address.ts';
import { attachControls, closeMenus } from './controls.ts';
import { type ChartModel, chartModel } from './model.ts';
import { captureState, cardOf, chartsOf, pageOf, restore } from './sections.ts';
import { ChartView, LegendView } from './view.tsx';

const voice = document.createElement('p');
voice.className = 'unseen';
voice.setAttribute('role', 'status');
document.body.append(voice);
const say = (text: string): void => {
  voice.textContent = text;
};

const withoutHash = (href: string): string => href.split('#', 1)[0] ?? href;

/** Functions that unmount the current charts. */
let unmounts: (() => void)[] = [];
let request = new AbortController();
let shownAddress = withoutHash(location.href);
/** The range before the first zoom, to which a reset returns. */
let before: ReturnType<typeof stateOf>['range'] | null = null;

/** Fetches the data of a section; null if its figure has no source. */
async function load(section: Element, signal?: AbortSignal): Promise<SeriesAnswer | null> {
  const { source, colours } = section.querySelector<HTMLElement>('figure[data-plot]')?.dataset ?? {};
  if (!source) return null;
  const response = await fetch(source, {
    ...(signal && { signal }),
    headers: { accept: 'application/json' },
  });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const answer = (await response.json()) as SeriesAnswer;
  const names = [...section.querySelectorAll('[data-legend] bdi')].map(({ textContent }) => textContent);
  const series = answer.series.map((one, i) => ({ ...one, title: names[i] ?? one.title }));
  const palette = colours ? { colours: colours.split(' ').map(Number) } : {};
  return { ...answer, series, ...palette };
}

/** Makes a section interactive. Returns a function that unmounts it. */
function mount(section: HTMLElement, loaded: SeriesAnswer | null): () => void {
  const controls = controlsOf(section);
  const figure = section.querySelector<HTMLElement>('figure[data-plot]');
  // Without values, the message of the server stays.
  const hasChart = loaded !== null && hasValues(loaded);
  const model = hasChart ? modelOf(loaded, figure?.dataset.title ?? '', controls) : null;
  if (controls) {
    attachControls(controls, model, {
      onDrawing: () => model && redraw(controls, model),
      onData: (submitter) => {
        before = null;
        show(addressOf(controls, model?.hidden.value ?? new Set(), { submitter }));
      },
    });
  }
  const legend = section.querySelector<HTMLElement>('[data-legend]');
  if (model === null || figure === null) return () => {};
  figure.replaceChildren();
  render(<ChartView model={model} />, figure);
  if (legend) {
    legend.replaceChildren();
    render(<LegendView model={model} />, legend);
  }
  return () => {
    render(null, figure);
    if (legend) render(null, legend);
  };
}

function modelOf(answer: SeriesAnswer, title: string, controls: Controls | null): ChartModel {
  const hidden = hiddenIn(new URLSearchParams(location.search));
  const model: ChartModel = chartModel(
    { answer, title, actions: { say, toggle, zoom, reset } },
    stateOf(controls),
    hidden,
  );
  model.isZoomed.value = controls !== null && typeof model.state.value.range === 'object';

  function toggle(id: string): void {
    const next = new Set(model.hidden.value);
    if (!next.delete(id)) next.add(id);
    model.hidden.value = next;
    if (controls) {
      history.replaceState(null, '', addressHiding(next));
      shownAddress = withoutHash(location.href);
    }
    say(`${answer.series.find((one) => one.id === id)?.title} is switched ${next.has(id) ? 'off' : 'on'}.`);
  }

  function zoom(from: number, until: number): void {
    model.isZoomed.value = true;
    if (controls === null) return;
    before ??= model.state.value.range;
    const days = {
      from: isoDay(model.drawing.value.times[from] ?? 0),
      until: isoDay(periodEnd(answer, until)),
    };
    show(addressOf(controls, model.hidden.value, { range: days }));
  }

  function reset(): void {
    const { range } = model.state.value;
    if (controls === null) model.isZoomed.value = false;
    else if (model.isZoomed.value) {
      const isOther = before !== null && JSON.stringify(before) !== JSON.stringify(range);
      const back = isOther && before !== null ? before : presetOf(controls);
      before = null;
      show(addressOf(controls, model.hidden.value, { range: back }));
    }
  }

  return model;
}

function redraw(controls: Controls, model: ChartModel): void {
  model.state.value = stateOf(controls);
  history.pushState(null, '', addressOf(controls, model.hidden.value));
  shownAddress = withoutHash(location.href);
  say(['The chart was updated.', ...model.drawing.value.notes].join(' '));
}

/** Replaces the charts by those of a URL. If that fails, the browser opens the URL and shows the error. */
async function show(address: URL, isBack = false): Promise<void> {
  request.abort();
  request = new AbortController();
  const { signal } = request;
  const sections = chartsOf(document);
  for (const section of sections) section.setAttribute('aria-busy', 'true');
  try {
    const page = await pageOf(address, sections.length, signal);
    const fresh = chartsOf(page);
    const loaded = await Promise.all(fresh.map((section) => load(section, signal)));
    if (!isBack) history.pushState(null, '', address);
    shownAddress = withoutHash(address.href);
    document.title = page.title;
    const states = sections.map((section) => captureState(cardOf(section)));
    for (const unmount of unmounts) unmount();
    unmounts = fresh.map((section, i) => {
      const old = sections[i];
      if (old) cardOf(old).replaceWith(document.adoptNode(cardOf(section)));
      return mount(section, loaded[i] ?? null);
    });
    fresh.forEach((section, i) => {
      const state = states[i];
      if (state) restore(cardOf(section), state);
    });
    say(describeRange(loaded[0] ?? null));
  } catch {
    // Fall back to a full page load.
    if (!signal.aborted) location.assign(address);
  }
}

function describeRange(loaded: SeriesAnswer | null): string {
  if (loaded === null || !hasValues(loaded)) return 'There are no values to draw.';
  const { per, start, periods, series } = loaded;
  const count = series.length === 1 ? 'one series' : `${series.length} series`;
  const [first, last] = [Date.parse(start), periodEnd(loaded, periods - 1)];
  return `The chart shows ${count} by ${per}, ${periodName(first, 'day')} until ${periodName(last, 'day')}.`;
}

async function start(): Promise<void> {
  closeMenus();
  unmounts = await Promise.all(
    chartsOf(document).map(async (section) => {
      try {
        return mount(section, await load(section));
      } catch {
        // The SVG of the server stays.
        return mount(section, null);
      }
    }),
  );
  addEventListener('popstate', () => {
    // A change of the hash alone does not change the chart.
    if (withoutHash(location.href) !== shownAddress) show(new URL(location.href), true);
  });
}

await start();
