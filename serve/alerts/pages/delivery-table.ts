import { table, timeOfEvent } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { ReceivedDelivery } from '../integrations/received-deliveries.ts';
import { ago } from './frame.ts';

export const DELIVERIES_MAX = 25;

/** The newest deliveries of an integration, with the outcomes of their alerts. */
function deliveryTable(deliveries: readonly ReceivedDelivery[], project: string): Html {
  return table({
    caption: 'Recent deliveries',
    head: ['Time', 'Outcomes', 'Alerts'],
    rows: deliveries.map(({ at, counts, iids, truncated }) => [
      timeOfEvent(at),
      html`${counts.map(([outcome, count]) => html`<span class="tag">${count} ${outcome}</span> `)}${truncated > 0 && html`<span class="tag bad">${truncated} left out</span>`}`,
      html`${iids.map((iid) => html`<a href="/projects/${project}/alerts/${iid}">#${iid}</a> `)}`,
    ]),
    empty: 'No deliveries yet.',
  });
}

/** The time of the last delivery, or a hint for a new integration. The script of the page keeps it up to date. */
export const waitingNote = ([last]: readonly ReceivedDelivery[], now: number): Html =>
  html`<div data-part="waiting" role="status">${
    last === undefined
      ? html`<p class="note warn"><b>Waiting for the first alert.</b> Connect a tool as shown below, or send a test alert.</p>`
      : html`<p class="under spaced-below">Last delivery ${ago(last.at, now)}</p>`
  }</div>`;

/** The newest deliveries. The script of the page keeps the card up to date. */
export const deliveryCard = (deliveries: readonly ReceivedDelivery[], project: string): Html =>
  html`<section class="card" data-part="deliveries"><h2>Recent deliveries</h2><p class="hint">The outcome of each alert in a delivery. Unmatched: it resolves or acknowledges an alert that is not open. Ignored: a rule of the integration ignores it. Left out: the sender cut the group at its maximum and does not send the rest. Group by more labels to avoid this.</p>${deliveryTable(deliveries, project)}</section>`;
