import { table, timeOfEvent } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { DeliveryAttempt } from '../notifications/webhook-sender.ts';

export const ATTEMPTS_MAX = 25;

/** The newest requests to a target and their results. */
export const attemptCard = (attempts: readonly DeliveryAttempt[], project: string): Html =>
  html`<section class="card"><h2>Recent deliveries</h2><p class="hint">Requests of the last 7 days. Failed requests are retried with increasing delays until they are given up.</p>${attemptTable(attempts, project)}</section>`;

function attemptTable(attempts: readonly DeliveryAttempt[], project: string): Html {
  return table({
    caption: 'Recent attempts',
    head: ['Time', 'Result', 'Event', 'Alert', 'Duration'],
    rows: attempts.map(({ at, event, iid, status, milliseconds, fault, given_up }) => [
      timeOfEvent(at),
      fault === ''
        ? html`<span class="tag good">${status}</span>`
        : html`<span class="tag bad">${fault}</span>${given_up && html` <span class="tag">given up</span>`}`,
      html`<span class="tag">${event}</span>`,
      iid === 0 ? html`–` : html`<a href="/projects/${project}/alerts/${iid}">#${iid}</a>`,
      html`${milliseconds} ms`,
    ]),
    empty: 'No deliveries yet.',
    numbers: ['Duration'],
  });
}
