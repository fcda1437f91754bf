import type { Metric } from 'prom-client';
import { createRunnerMetrics } from '../../../aggregate/runner/runner-metrics.ts';
import { ignoredErrors } from '../../../infra/ignore.ts';
import { createPortMetrics } from '../../../infra/runtime/port-metrics.ts';
import { createLoaderMetrics } from '../../../ingest/load/loader-metrics.ts';
import { createSourceMetrics } from '../../../ingest/sources/source-metrics.ts';
import { createIdentityMetrics } from '../../accounts/identity-metrics.ts';
import { createAlertMetrics } from '../../alerts/composition/alert-metrics.ts';
import { createServiceMetrics } from '../../http/process-health.ts';
import { createRequestMetrics } from '../../http/request-metrics.ts';
import { createAnswerCacheMetrics } from '../../metrics/answer-cache-metrics.ts';

/** The Prometheus metrics of a process, by the domain that records them. */
export const createProcessMetrics = () => ({
  errors: { ignored: ignoredErrors },
  ports: createPortMetrics(),
  health: createServiceMetrics(),
  sources: createSourceMetrics(),
  loads: createLoaderMetrics(),
  computation: createRunnerMetrics(),
  requests: createRequestMetrics(),
  answers: createAnswerCacheMetrics(),
  identity: createIdentityMetrics(),
  alerts: createAlertMetrics(),
});

export type ProcessMetrics = ReturnType<typeof createProcessMetrics>;

export const listMetrics = (metrics: ProcessMetrics): Metric[] =>
  Object.values(metrics).flatMap((ofDomain) => Object.values<Metric>(ofDomain));
