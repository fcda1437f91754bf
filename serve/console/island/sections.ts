/** Replaces the charts of a page and preserves focus, open menus and scroll positions. */

/** The chart sections of a page. The whole card is replaced, because its downloads and snippets depend on the chart. */
export const chartsOf = (root: ParentNode): readonly HTMLElement[] => [
  ...root.querySelectorAll<HTMLElement>('section[data-chart]'),
];
export const cardOf = (section: HTMLElement): HTMLElement => section.closest<HTMLElement>('.card') ?? section;

/** Fetches and parses the page of a URL. Throws if it does not have `count` charts. */
export async function pageOf(address: URL, count: number, signal: AbortSignal): Promise<Document> {
  const answer = await fetch(address, { signal, headers: { accept: 'text/html' } });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  if (chartsOf(page).length !== count) throw new Error('another page');
  return page;
}

/** The interface state that is restored after a card was replaced. */
interface SectionState {
  /** Selector of the focused element, and its index among the matches. */
  readonly focus: readonly [string, number] | null;
  readonly open: readonly boolean[];
  readonly scrolled: readonly number[];
  readonly searches: readonly string[];
}

const SEARCH = 'input[type="search"]';

const all = <T extends HTMLElement>(root: HTMLElement, selector: string): readonly T[] => [
  ...root.querySelectorAll<T>(selector),
];

export function captureState(around: HTMLElement): SectionState {
  const focused = around.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
  const selector = focused && selectorOf(focused);
  return {
    focus: focused && selector ? [selector, all(around, selector).indexOf(focused)] : null,
    open: all<HTMLDetailsElement>(around, 'details').map(({ open }) => open),
    scrolled: all(around, 'details > *').map(({ scrollTop }) => scrollTop),
    searches: all<HTMLInputElement>(around, SEARCH).map(({ value }) => value),
  };
}

export function restore(around: HTMLElement, { focus, open, scrolled, searches }: SectionState): void {
  all<HTMLDetailsElement>(around, 'details').forEach((details, i) => {
    details.open = open[i] === true;
  });
  all<HTMLInputElement>(around, SEARCH).forEach((search, i) => {
    search.value = searches[i] ?? '';
    search.dispatchEvent(new Event('input', { bubbles: true }));
  });
  all(around, 'details > *').forEach((one, i) => {
    one.scrollTop = scrolled[i] ?? 0;
  });
  if (focus === null) return;
  const found = all(around, focus[0])[focus[1]] ?? around.querySelector<HTMLElement>('.chart-plot');
  found?.focus({ preventScroll: true });
}

function selectorOf(element: HTMLElement): string {
  const { name, value, type } = element as HTMLInputElement;
  const { tool } = element.dataset;
  if (element.id !== '') return `#${CSS.escape(element.id)}`;
  if (tool !== undefined) return `[data-tool="${CSS.escape(tool)}"]`;
  if (!name) return element.matches('.chart-plot') ? '.chart-plot' : element.localName;
  const isOne = type === 'radio' || type === 'checkbox' || type === 'submit';
  return `[name="${CSS.escape(name)}"]${isOne ? `[value="${CSS.escape(value)}"]` : ''}`;
}
