/** Behaviour of the chart controls and menus. */
import { isoDay } from '../../../infra/days.ts';
import { periodEnd } from '../model/drawing.ts';
import { type Controls, DRAWING_NAMES } from './address.ts';
import type { ChartModel } from './model.ts';

/** Debounce of date fields, which fire a change on every digit. */
const DATE_MS = 700;

interface ControlEvents {
  /** Only the drawing changes. */
  readonly onDrawing: () => void;
  readonly onData: (submitter: HTMLElement | null) => void;
}

/** Attaches the listeners of a form and hides its submit button, which only browsers without JavaScript need. */
export function attachControls({ form }: Controls, model: ChartModel | null, events: ControlEvents): void {
  for (const one of form.querySelectorAll<HTMLButtonElement>('button:not([type="button"], [name])')) {
    one.hidden = true;
  }
  for (const picker of form.querySelectorAll<HTMLElement>('[data-picker]')) offerSearch(picker);
  let waiting = 0;
  const ask = (submitter: HTMLElement | null = null) => {
    clearTimeout(waiting);
    if (form.reportValidity()) events.onData(submitter);
  };
  form.addEventListener('change', ({ target }) => {
    const { name, type } = target as HTMLInputElement;
    if (name === '' || isHalf(target as HTMLElement)) return;
    if (name === 'range') clearDays(form);
    if (model !== null && DRAWING_NAMES.has(name)) return events.onDrawing();
    clearTimeout(waiting);
    if (type !== 'date') return ask();
    if (fillDays(form, model)) waiting = setTimeout(ask, DATE_MS);
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if ((event.submitter as HTMLButtonElement | null)?.name === 'range') clearDays(form);
    ask(event.submitter);
  });
}

/** Whether one of the two selects for adding a series (metric and chain) is still empty. */
function isHalf(target: HTMLElement): boolean {
  const parts = target.closest('fieldset.add')?.querySelectorAll('select') ?? [];
  return [...parts].some(({ value }) => value === '');
}

/** Shows the search field of a menu, which filters its choices. */
function offerSearch(picker: HTMLElement): void {
  const label = picker.querySelector<HTMLElement>('[data-filter]');
  const field = label?.querySelector('input');
  if (!label || !field) return;
  label.hidden = false;
  field.addEventListener('input', () => {
    const wanted = field.value.trim().toLowerCase();
    for (const choice of picker.querySelectorAll<HTMLElement>('.choice')) {
      choice.hidden = !choice.textContent.toLowerCase().includes(wanted);
    }
    for (const group of picker.querySelectorAll<HTMLElement>('fieldset')) {
      group.hidden = group.querySelector('.choice:not([hidden])') === null;
    }
  });
  // Enter would submit the form.
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') event.preventDefault();
  });
}

/** Menus cover the chart, so they close on a click outside and on Escape. */
export function closeMenus(): void {
  const opened = () => document.querySelectorAll<HTMLDetailsElement>('details.menu[open]');
  for (const menu of opened()) menu.open = false;
  document.addEventListener('click', ({ target }) => {
    // The clicked element may have been replaced since.
    if (!(target as Node).isConnected) return;
    for (const menu of opened()) if (!menu.contains(target as Node)) menu.open = false;
  });
  document.addEventListener('keydown', ({ key, target }) => {
    if (key !== 'Escape') return;
    for (const menu of opened()) {
      menu.open = false;
      if (menu.contains(target as Node)) menu.querySelector('summary')?.focus();
    }
  });
}

const dayField = (form: HTMLFormElement, name: string) =>
  form.querySelector<HTMLInputElement>(`input[name="${name}"]`);

/** A preset range and custom dates exclude each other. */
function clearDays(form: HTMLFormElement): void {
  for (const name of ['from', 'until']) {
    const field = dayField(form, name);
    if (field === null) continue;
    field.value = '';
    field.setCustomValidity('');
  }
}

/** Fills an empty date field with the date that the chart shows. Returns true if both dates are valid. */
function fillDays(form: HTMLFormElement, model: ChartModel | null): boolean {
  const [from, until] = [dayField(form, 'from'), dayField(form, 'until')];
  if (from === null || until === null) return false;
  if (from.value === '' && until.value === '') return true;
  if (model) {
    const { answer } = model;
    if (from.value === '') from.value = answer.start;
    if (until.value === '') until.value = isoDay(periodEnd(answer, answer.periods - 1));
  }
  until.setCustomValidity(from.value > until.value ? 'The last day is before the first one.' : '');
  return from.value !== '' && until.value !== '' && until.reportValidity();
}
