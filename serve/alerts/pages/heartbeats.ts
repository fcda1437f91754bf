import type { FastifyInstance } from 'fastify';
import { button, table } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { EVERY_REQUEST, POSTED } from '../integrations/heartbeat-store.ts';
import type { Heartbeat } from '../integrations/heartbeats.ts';
import type { IntegrationSummary } from '../model/tables.ts';
import { ago, type ProjectFrame } from './frame.ts';
import { integrationIdOf, ONE, pathOf } from './integration-paths.ts';

interface HeartbeatPageParts extends Pick<AlertDomain, 'heartbeats' | 'integrations'> {
  readonly frame: ProjectFrame;
}

export function serveHeartbeatForms(pages: FastifyInstance, parts: HeartbeatPageParts): void {
  const { frame, heartbeats, integrations } = parts;
  pages.post(`${ONE}/heartbeats/:heartbeat/forget`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const integration = await integrations.get(visit.membership.project, integrationIdOf(request));
    await heartbeats.forget([integration], (request.params as { heartbeat: string }).heartbeat);
    return seeOther(reply, pathOf(integration), 'Heartbeat forgotten.');
  });
}

/** All heartbeats of an integration in one tag. */
export function heartbeatTag(
  { heartbeat_minutes: minutes, is_active }: IntegrationSummary,
  heartbeats: readonly Heartbeat[],
  now: number,
): Html {
  if (minutes === 0 || !is_active) return html`–`;
  if (heartbeats.length === 0) return html`<span class="tag">no heartbeats yet</span>`;
  const missing = heartbeats.find(({ alert }) => alert !== null);
  if (missing?.alert)
    return html`<span class="tag bad">missing</span> last beat ${ago(missing.alert.startedMs, now)}`;
  const heardMs = Math.max(0, ...heartbeats.map((heartbeat) => heartbeat.heardMs));
  const heard = heardMs === 0 ? 'no beats yet' : html`last beat ${ago(heardMs, now)}`;
  return html`<span class="tag good">every ${minutes} min</span> ${heard}`;
}

/** The card of the heartbeats of an integration; nothing if it has none. */
export function heartbeatCard(
  integration: IntegrationSummary,
  heartbeats: readonly Heartbeat[],
  token: Html,
  now: number,
): Html | false {
  if (integration.heartbeat_minutes === 0 || !integration.is_active) return false;
  const rows = heartbeats.map((heartbeat) => [
    html`${nameOf(heartbeat)}`,
    heartbeat.heardMs === 0 ? html`No beats yet` : ago(heartbeat.heardMs, now),
    heartbeat.alert === null
      ? html`<span class="tag good">watched</span>`
      : html`<span class="tag bad">missing</span> <a href="/projects/${integration.project_id}/alerts/${heartbeat.alert.iid}">#${heartbeat.alert.iid}</a>`,
    heartbeat.beat === EVERY_REQUEST
      ? html``
      : button(
          `${pathOf(integration)}/heartbeats/${heartbeat.id}/forget`,
          token,
          'Forget',
          `Forget the heartbeat ${nameOf(heartbeat)}`,
          'second small',
        ),
  ]);
  return html`<section class="card"><h2>Heartbeats</h2><p class="hint">Each heartbeat creates an alert after ${integration.heartbeat_minutes} minutes without a beat. Forget a heartbeat if its source no longer exists: this resolves its alert. A heartbeat is forgotten automatically after 30 days without a beat.</p>${table(
    {
      caption: 'Heartbeats',
      head: ['Heartbeat', 'Last beat', 'State', ''],
      rows,
      empty: 'No heartbeats yet. The next Watchdog or POST to …/heartbeat starts one.',
    },
  )}</section>`;
}

function nameOf({ beat, labels }: Heartbeat): string {
  if (beat === EVERY_REQUEST) return 'Every request';
  return beat === POSTED ? 'POST …/heartbeat' : labels.join(', ');
}
