import { type Html, html } from '../../pages/html.ts';
import type { AlertDomain } from '../composition/domain.ts';

/** Warns of alerts that page nobody, with a link to the next step. Null if the default route pages. */
export async function unroutedNote(
  { alertRoutes, policies }: Pick<AlertDomain, 'alertRoutes' | 'policies'>,
  projectId: string,
): Promise<Html | null> {
  const [{ routes }, list, isApplied] = await Promise.all([
    alertRoutes.get(projectId),
    policies.list(projectId),
    alertRoutes.isApplied(projectId),
  ]);
  if (!isApplied || routes.at(-1)?.policy_id !== '') return null;
  const base = `/projects/${projectId}`;
  return list.length === 0
    ? html`<p class="hint spaced-below">New alerts page nobody yet. <a href="${base}/oncall">Set up who is on call</a>.</p>`
    : html`<p class="note warn">Nobody is paged for new alerts that only the default route matches. <a href="${base}/routes">Give it a policy</a>.</p>`;
}
