import { createHmac } from 'node:crypto';
import { alertEvents } from '../../../aggregate/alerts/model/tables.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { newLocator, newSecret } from '../../identity/accounts/secrets.ts';
import { RequestRefused } from '../projects/access.ts';
import { type Hook, notices, type Project } from '../projects/tables.ts';
import type { AlertServices } from '../services.ts';

// Outgoing webhooks: addresses that are told of what happens to alerts.

export const HOOK_EVENTS = ['created', 'acknowledged', 'resolved'] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];
const HOOKS_PER_PROJECT = 20;

export interface HookChanges {
  readonly name?: string;
  readonly url?: string;
  readonly events?: readonly HookEvent[];
  readonly is_active?: boolean;
}

export function hooksOf(services: AlertServices, projectId: string): Promise<Hook[]> {
  return services.hooks.find(sql`project_id = ${projectId} AND deleted_ms = 0`, 'created_ms, id');
}

export async function hookOf(services: AlertServices, project: Project, id: string): Promise<Hook> {
  const hook = await services.hooks.get(id);
  if (!hook || hook.project_id !== project.id || hook.deleted_ms > 0)
    throw new RequestRefused('not_found', 'Hook Not Found');
  return hook;
}

/** Makes a hook, which is told of what happens from now on. The secret of its signatures is shown this once. */
export async function createHook(
  services: AlertServices,
  project: Project,
  given: HookChanges,
): Promise<{ readonly hook: Hook; readonly secret: string }> {
  if ((await hooksOf(services, project.id)).length >= HOOKS_PER_PROJECT) {
    throw new RequestRefused('conflict', `A project may have ${HOOKS_PER_PROJECT} hooks; delete one first.`);
  }
  const id = newLocator();
  const secret = newSecret();
  const blank = {
    id,
    expires_ms: 0,
    project_id: project.id,
    name: '',
    url: '',
    events: [...HOOK_EVENTS],
    secret: services.accounts.seal.encrypt(secret, `hook/${id}`),
    is_active: true,
    created_ms: services.accounts.clock.now(),
    deleted_ms: 0,
  };
  const hook = changed(blank, given);
  await skipHistory(services, Number(project.id), id);
  await services.hooks.add(hook);
  await services.integrationCache.changed();
  return { hook: { ...hook, version: 1 }, secret };
}

export async function changeHook(
  services: AlertServices,
  project: Project,
  id: string,
  changes: HookChanges,
): Promise<Hook> {
  const before = await hookOf(services, project, id);
  // What happened while it was off is over.
  if (changes.is_active === true && !before.is_active) await skipHistory(services, Number(project.id), id);
  const hook = await services.hooks.change(id, (current) => {
    const next = changed(current as Hook, changes);
    return { next, result: next };
  });
  await services.integrationCache.changed();
  return hook;
}

export async function deleteHook(services: AlertServices, project: Project, id: string): Promise<void> {
  await hookOf(services, project, id);
  await services.hooks.change(id, (current) => ({
    next: { ...(current as Hook), deleted_ms: services.accounts.clock.now(), is_active: false },
    result: undefined,
  }));
  await services.integrationCache.changed();
}

/** A target begins with what happens after it was made. */
export async function skipHistory(services: AlertServices, project: number, target: string): Promise<void> {
  await services.alerts.waitUntilWritten();
  const { store } = services.engine.runtime;
  const [row] = await store.rows<{ position: number }>(
    sql`SELECT max(position) AS position FROM ${alertEvents} WHERE project = ${project}`,
  );
  const now = services.accounts.clock.now();
  await store.insert(notices, [
    { project, target, position: row?.position ?? 0, at: now, status: 0, fault: '', version: now },
  ]);
}

/** `t=SECONDS,v1=HEX`: the HMAC-SHA256 of the seconds, a dot and the body, with the hook's secret. */
export function signatureOf(secret: string, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

function changed<Row extends Omit<Hook, 'version'>>(current: Row, changes: HookChanges): Row {
  const { name = current.name, url = current.url, events = current.events } = changes;
  const target = URL.parse(url);
  if (target === null || !/^https?:$/.test(target.protocol) || target.username !== '' || url.length > 2000) {
    throw new RequestRefused('bad_request', 'Use an http or https address without a user name.', 'url');
  }
  if (events.length === 0) throw new RequestRefused('bad_request', 'Choose at least one event.', 'events');
  return {
    ...current,
    name: name.slice(0, 255),
    url,
    events,
    is_active: changes.is_active ?? current.is_active,
  };
}
