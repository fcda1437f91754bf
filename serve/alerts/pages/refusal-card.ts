import { table, timeOfEvent } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { CountedRefusal } from '../intake/refusals.ts';

/** The refused requests of an integration. The script of the page keeps the card up to date. */
export const refusalCard = (refusals: readonly CountedRefusal[]): Html =>
  html`<section class="card" data-part="refusals"><h2>Refused requests</h2><p class="hint">Requests of the last 7 days that were refused, by reason. Most tools do not retry them. Anyone who knows the URL can send requests without the key. They are counted separately.</p>${table(
    {
      caption: 'Refused requests',
      head: ['Last', 'Status', 'Reason', 'Requests'],
      rows: refusals.map(({ status, message, count, last }) => [
        timeOfEvent(last),
        html`<span class="tag bad">${status}</span>`,
        html`${message}`,
        html`${count}`,
      ]),
      empty: 'No refused requests.',
      numbers: ['Requests'],
    },
  )}</section>`;
