import type { Metric } from 'prom-client';
import { computeMeasures } from '../../../aggregate/runner/compute-measures.ts';
import { ignoredErrors } from '../../../infra/ignore.ts';
import { portMeasures } from '../../../infra/runtime/measured-ports.ts';
import { loadMeasures } from '../../../ingest/load/load-measures.ts';
import { sourceMeasures } from '../../../ingest/sources/source-measures.ts';
import { identityMeasures } from '../../accounts/identity-measures.ts';
import { alertMeasures } from '../../alerts/composition/measures.ts';
import { healthMeasures } from '../../http/process-health.ts';
import { requestMeasures } from '../../http/request-measures.ts';
import { answerMeasures } from '../../metrics/answer-measures.ts';

/** What the domains of a process measure themselves, by domain. */
export const processMeasures = () => ({
  errors: { ignored: ignoredErrors },
  ports: portMeasures(),
  health: healthMeasures(),
  sources: sourceMeasures(),
  loads: loadMeasures(),
  computation: computeMeasures(),
  requests: requestMeasures(),
  answers: answerMeasures(),
  identity: identityMeasures(),
  alerts: alertMeasures(),
});

export type ProcessMeasures = ReturnType<typeof processMeasures>;

export const allMeasures = (measures: ProcessMeasures): Metric[] =>
  Object.values(measures).flatMap((ofDomain) => Object.values<Metric>(ofDomain));
