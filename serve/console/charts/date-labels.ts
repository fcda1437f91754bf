import { type Html, html } from '../../pages/html.ts';
import type { DateTick } from '../date-ticks.ts';

/** Days, months and years below a drawing that ends at `bottom`, each with its year where that is another one. */
export const dateLabels = (ticks: readonly DateTick[], x: (at: number) => string, bottom: number): Html[] =>
  ticks.map(
    ({ at, label, year }) =>
      html`<text class="tick" x="${x(at)}" y="${bottom}" dy="1.4em" text-anchor="middle">${label}${year !== '' && html`<tspan x="${x(at)}" dy="1.2em">${year}</tspan>`}</text>`,
  );
