import { z } from 'zod';
import type { MatchLabels } from '../../../aggregate/alerts/matchers/matcher.ts';
import { formatMatchers } from '../../../aggregate/alerts/matchers/parse.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { DESTINATION_TYPES } from '../messages/destination.ts';
import { RequestRefused, requireRole } from '../model/access.ts';
import { TARGET_TYPES } from '../oncall/policies.ts';
import { previewRoutes, type RoutePreview, type RoutePreviewDependencies } from '../preview/route-preview.ts';
import { GAP_REASONS, type StepPreview, type TargetPreview } from '../preview/step-preview.ts';
import { timeText, wellFormedText } from '../projects/shapes.ts';
import type { Api } from './endpoint.ts';

const LABELS_MAX = 64;

const targetShape = z.object({
  type: z.enum(TARGET_TYPES),
  id: z.string(),
  recipients: z
    .array(
      z.object({
        user_id: z.int().nullable().describe('null: a channel'),
        destination_id: z.string().describe('id of the contact or channel'),
        type: z.enum(DESTINATION_TYPES),
        after_minutes: z.int(),
      }),
    )
    .describe('contacts and channels that would be notified now'),
  gaps: z.array(
    z.object({
      reason: z.enum(GAP_REASONS),
      user_id: z.int().nullable(),
      from: z.iso.datetime().nullable(),
      until: z.iso.datetime().nullable(),
    }),
  ),
});

const stepShape = z.object({
  delay_minutes: z.int(),
  important: z.boolean(),
  reaches_nobody: z.boolean().describe('true: the page would continue with the next step at once'),
  targets: z.array(targetShape),
});

const shape = z
  .object({
    is_applied: z.boolean().describe('false while an external on-call tool receives the alerts'),
    labels: z.record(z.string(), z.string()).describe('labels that matchers are compared with'),
    routes: z.array(
      z.object({
        name: z.string(),
        active: z.boolean(),
        is_reached: z.boolean().describe('false if an earlier route without `continues` took the alert'),
        takes: z.boolean(),
        matchers: z.array(z.object({ matcher: z.string(), matches: z.boolean() })),
      }),
    ),
    silence_ids: z.array(z.string()).describe('ids of the silences that match now'),
    maintenance_window_ids: z.array(z.string()).describe('ids of the maintenance windows that match now'),
    pages: z
      .array(
        z.object({
          route: z.string(),
          policy_id: z.string(),
          policy_name: z.string(),
          delay_seconds: z.int(),
          steps: z.array(stepShape),
        }),
      )
      .describe('one page for each policy'),
  })
  .meta({ id: 'RoutePreview' });

const idJson = (user: string) => (user === '' ? null : Number(user));

const targetJson = ({ target, recipients, gaps }: TargetPreview) => ({
  ...target,
  recipients: recipients.map(({ user, destination, type, afterMinutes }) => ({
    user_id: idJson(user),
    destination_id: destination,
    type,
    after_minutes: afterMinutes,
  })),
  gaps: gaps.map(({ reason, user, span }) => ({
    reason,
    user_id: idJson(user),
    from: span && timeText(span.from),
    until: span && timeText(span.until),
  })),
});

const stepJson = ({ step: { delay_minutes, important }, reachesNobody, targets }: StepPreview) => ({
  delay_minutes,
  important,
  reaches_nobody: reachesNobody,
  targets: targets.map(targetJson),
});

const previewJson = ({ isApplied, routes, suppression, pages }: RoutePreview, { values }: MatchLabels) => ({
  is_applied: isApplied,
  labels: Object.fromEntries(values),
  routes: routes.map(({ route: { name, is_active }, isReached, takes, matchers }) => ({
    name,
    active: is_active,
    is_reached: isReached,
    takes,
    matchers: matchers.map(({ matcher, isMatch }) => ({
      matcher: formatMatchers([matcher]),
      matches: isMatch,
    })),
  })),
  silence_ids: suppression.silencedBy,
  maintenance_window_ids: suppression.mutedBy,
  pages: pages.map(({ route, policy, delaySeconds, steps }) => ({
    route,
    policy_id: policy.id,
    policy_name: policy.name,
    delay_seconds: delaySeconds,
    steps: steps.map(stepJson),
  })),
});

/** Serves a preview of the pages that an alert would start now. */
export function serveRoutePreview(
  api: Api,
  parts: RoutePreviewDependencies & Pick<AlertDomain, 'reader' | 'suppressor'>,
): void {
  const { reader, suppressor } = parts;
  api.add(
    {
      method: 'POST',
      path: '/projects/:id/alert_routes/preview',
      tag: 'On call',
      summary: 'Preview how an alert would page',
      doc: 'Takes labels, or the number of an alert, which requires the Developer role. Returns the result of each matcher, the silences and maintenance windows that match, and the steps of each policy with their recipients and gaps. Sends nothing.',
      role: 'Reporter',
      body: z.strictObject({
        labels: z.record(wellFormedText().max(128), wellFormedText().max(4096)).optional(),
        alert_iid: z.int().min(1).optional(),
      }),
      answer: shape,
    },
    async ({ membership, body }) => {
      const { id } = membership.project;
      if ((body.labels === undefined) === (body.alert_iid === undefined))
        throw new RequestRefused('bad_request', 'Send either labels or alert_iid.', 'labels');
      if (Object.keys(body.labels ?? {}).length > LABELS_MAX)
        throw new RequestRefused('bad_request', `Send at most ${LABELS_MAX} labels.`, 'labels');
      let labels: MatchLabels = { values: new Map(Object.entries(body.labels ?? {})), isCut: false };
      if (body.alert_iid !== undefined) {
        requireRole(membership, 'Developer');
        labels = await suppressor.labelsOf(await reader.get(id, body.alert_iid));
      }
      return previewJson(await previewRoutes(parts, id, labels), labels);
    },
  );
}
