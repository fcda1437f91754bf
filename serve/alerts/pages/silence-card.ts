import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import { time } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import { OPEN_STATUSES } from '../projects/alert-reader.ts';
import type { Suppression } from '../suppression/suppressor.ts';

/** The suppression of an open alert, and a link that creates a silence. Null for other alerts. */
export function silenceCard(alert: Alert, reasons: Suppression | undefined): Html | null {
  if (!OPEN_STATUSES.includes(alert.status)) return null;
  return html`<section class="card"><h2>Silence</h2>
${reasons === undefined ? null : suppressionText(alert, reasons)}
<a class="button second" href="/projects/${alert.project}/silences/new?alert=${alert.iid}">Silence this alert</a></section>`;
}

/** Shows no end for windows, because `until` may be the limit of the search. */
function suppressionText({ project }: Alert, { silencedBy, mutedBy, until }: Suppression): Html {
  const count = ({ length }: readonly string[], path: string, noun: string) =>
    length > 0 &&
    html`<a href="/projects/${project}/${path}">${length} ${noun}${length === 1 ? '' : 's'}</a>`;
  const [window] = mutedBy;
  const windowPath = mutedBy.length === 1 ? `maintenance/${window}` : 'maintenance';
  const silences = count(silencedBy, 'silences', 'silence');
  const windows = count(mutedBy, windowPath, 'maintenance window');
  const end = mutedBy.length === 0 && html` until ${time(until)}`;
  return html`<p>The alert pages nobody${end}. It is suppressed by ${silences}${silences && windows && ' and '}${windows}.</p>`;
}
