import { consequenceMeasures } from '../consequences/consequence-measures.ts';
import { healthMeasures } from '../health/health-measures.ts';
import { pageMeasures } from '../paging/page-measures.ts';

/** What the alert domain measures. */
export const alertMeasures = () => ({ ...consequenceMeasures(), ...pageMeasures(), ...healthMeasures() });

export type AlertMeasures = ReturnType<typeof alertMeasures>;
