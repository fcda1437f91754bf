import { callPartsOf, type SampledOperation } from './call-parts.ts';
import { curlSample } from './curl.ts';
import { pythonSample } from './python.ts';
import { typescriptSample } from './typescript.ts';

/** A code sample as in the `x-codeSamples` extension of OpenAPI. */
export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

export function codeSamplesOf(
  origin: string,
  method: string,
  path: string,
  operation: SampledOperation,
): CodeSample[] {
  const parts = callPartsOf(origin, method, path, operation);
  return [
    { lang: 'Shell', label: 'curl', source: curlSample(parts) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescriptSample(parts) },
    { lang: 'Python', label: 'Python', source: pythonSample(parts) },
  ];
}
