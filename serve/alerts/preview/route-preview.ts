import { setImmediate } from 'node:timers/promises';
import type { Matcher, MatchLabels } from '../../../aggregate/alerts/matchers/matcher.ts';
import { compileMatchers } from '../../../aggregate/alerts/matchers/matcher-list.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { Policies, Policy } from '../oncall/policies.ts';
import { type AlertRoute, ProjectRoutes, type Routes } from '../oncall/routes.ts';
import type { Suppression, Suppressor } from '../suppression/suppressor.ts';
import { type StepPreview, StepPreviews, type StepPreviewsDependencies } from './step-preview.ts';

/** One route, and whether and why it takes the alert. */
interface RouteResult {
  readonly route: AlertRoute;
  /** False if an earlier route without `continues` took the alert. */
  readonly isReached: boolean;
  readonly matchers: readonly { readonly matcher: Matcher; readonly isMatch: boolean }[];
  /** True if the route is reached and active, and all of its matchers match. */
  readonly takes: boolean;
}

/** One page that the alert would begin. */
interface PagePreview {
  readonly route: string;
  readonly delaySeconds: number;
  readonly policy: Policy;
  readonly steps: readonly StepPreview[];
}

/** The pages that an alert with some labels would start now. */
export interface RoutePreview {
  /** False while an external on-call tool gets the alerts: nobody is paged. */
  readonly isApplied: boolean;
  readonly routes: readonly RouteResult[];
  readonly suppression: Suppression;
  readonly pages: readonly PagePreview[];
}

export interface RoutePreviewDependencies extends StepPreviewsDependencies {
  readonly alertRoutes: Pick<Routes, 'get' | 'isApplied'>;
  readonly policies: Pick<Policies, 'findAll'>;
  readonly suppressor: Pick<Suppressor, 'suppressionOf'>;
  readonly clock: Clock;
}

/** Computes the pages that an alert would start now, with the same code as the pager. */
export async function previewRoutes(
  dependencies: RoutePreviewDependencies,
  projectId: string,
  labels: MatchLabels,
): Promise<RoutePreview> {
  const { alertRoutes, policies, suppressor, clock } = dependencies;
  const now = clock.now();
  const [{ routes }, isApplied, suppression] = await Promise.all([
    alertRoutes.get(projectId),
    alertRoutes.isApplied(projectId),
    suppressor.suppressionOf(projectId, labels, now),
  ]);
  const targets = await new ProjectRoutes(routes).targetsOf(labels);
  const found = await policies.findAll(
    projectId,
    targets.map(({ policyId }) => policyId),
  );
  const steps = new StepPreviews(dependencies, projectId, now);
  const pages = await Promise.all(
    targets.map(async ({ route, policyId, delaySeconds }) => {
      const policy = found.get(policyId);
      if (policy === undefined) return null;
      return {
        route,
        delaySeconds,
        policy,
        steps: await Promise.all(policy.steps.map((step) => steps.of(step))),
      };
    }),
  );
  return {
    isApplied,
    routes: await routeResults(routes, labels),
    suppression,
    pages: pages.filter((page) => page !== null),
  };
}

async function routeResults(routes: readonly AlertRoute[], labels: MatchLabels): Promise<RouteResult[]> {
  const results: RouteResult[] = [];
  let isReached = true;
  for (const route of routes) {
    const matchers = route.matchers.map((matcher) => ({
      matcher,
      isMatch: compileMatchers([matcher])({ ...labels, isCut: false }),
    }));
    const takes = isReached && route.is_active && matchers.every(({ isMatch }) => isMatch);
    results.push({ route, isReached, matchers, takes });
    if (takes && !route.continues) isReached = false;
    await setImmediate();
  }
  return results;
}
