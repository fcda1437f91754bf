import { table } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { SnsSubscription } from '../model/tables.ts';
import { ago } from './frame.ts';

/** The Amazon SNS subscriptions that asked an integration for confirmation. */
export function subscriptionCard(subscriptions: readonly SnsSubscription[], now: number): Html {
  return html`<section class="card"><h2>Subscriptions</h2>${table({
    caption: 'Subscriptions',
    head: ['Topic', 'Status', 'Requested'],
    rows: subscriptions.map((subscription) => [
      html`${subscription.topic}`,
      statusOf(subscription),
      ago(subscription.created_ms, now),
    ]),
    empty: 'No topic has asked for a confirmation yet.',
  })}</section>`;
}

function statusOf({ state, fault }: SnsSubscription): Html {
  if (state === 'confirmed') return html`<span class="tag good">confirmed</span>`;
  if (state === 'failed') return html`<span class="tag bad">failed</span> ${fault}`;
  return html`<span class="tag">being confirmed</span> ${fault}`;
}
