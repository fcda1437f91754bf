import { consequenceMeasures } from '../consequences/consequence-measures.ts';
import { healthMeasures } from '../health/health-measures.ts';
import { pageMeasures } from '../paging/page-measures.ts';

export const alertMeasures = () => ({ ...consequenceMeasures(), ...pageMeasures(), ...healthMeasures() });

export type AlertMeasures = ReturnType<typeof alertMeasures>;
