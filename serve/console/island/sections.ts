/** Sections of a page that are exchanged for those of another address, and what a reader must not lose by that. */

export const chartSections = (of: ParentNode): HTMLElement[] => [
  ...of.querySelectorAll<HTMLElement>('section[data-chart]'),
];

/** The page of an address, parsed but not shown. Throws if it is not the same page with other data. */
export async function pageOf(address: URL, count: number, signal: AbortSignal): Promise<Document> {
  const answer = await fetch(address, { signal, headers: { accept: 'text/html' } });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  if (chartSections(page).length !== count) throw new Error('another page');
  return page;
}

/** How a control is found again in the section that takes the place of its own. */
export interface Kept {
  readonly focus: string | null;
  readonly open: readonly boolean[];
}

export function keptOf(section: HTMLElement): Kept {
  const focused = section.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
  return {
    focus: focused && selectorOf(focused),
    open: [...section.querySelectorAll('details')].map(({ open }) => open),
  };
}

export function restore(section: HTMLElement, { focus, open }: Kept): void {
  const details = section.querySelectorAll('details');
  if (details.length === open.length) {
    details.forEach((one, i) => {
      one.open = open[i] === true;
    });
  }
  if (focus === null) return;
  const found =
    section.querySelector<HTMLElement>(focus) ?? section.querySelector<HTMLElement>('.chart-plot');
  found?.focus({ preventScroll: true });
}

function selectorOf(element: HTMLElement): string {
  const { name, value, type } = element as HTMLInputElement;
  if (element.id !== '') return `#${CSS.escape(element.id)}`;
  if (element.dataset.tool !== undefined) return `[data-tool="${CSS.escape(element.dataset.tool)}"]`;
  if (!name) return '.chart-plot';
  const isOne = type === 'radio' || type === 'checkbox' || type === 'submit';
  return `[name="${CSS.escape(name)}"]${isOne ? `[value="${CSS.escape(value)}"]` : ''}`;
}
