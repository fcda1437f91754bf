import { table, time } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { ReceivedDelivery } from '../integrations/received-deliveries.ts';

export const DELIVERIES_MAX = 25;

/** The newest deliveries of an integration and what became of their alerts. */
export function deliveryTable(deliveries: readonly ReceivedDelivery[], project: string): Html {
  return table({
    caption: 'Recent deliveries',
    head: ['Time', 'Outcomes', 'Alerts'],
    rows: deliveries.map(({ at, counts, iids }) => [
      time(at),
      html`${counts.map(([outcome, count]) => html`<span class="tag">${count} ${outcome}</span> `)}`,
      html`${iids.map((iid) => html`<a href="/projects/${project}/alerts/${iid}">#${iid}</a> `)}`,
    ]),
    empty: 'No deliveries yet.',
  });
}
