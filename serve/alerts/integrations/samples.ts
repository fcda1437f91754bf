import { fieldsOf, type SampleField, valueAt } from '../../../aggregate/alerts/formats/mapping.ts';
import { depthOf, isObject } from '../../../aggregate/alerts/formats/values.ts';
import { MAPPED_FIELDS, type Mapping } from '../../../aggregate/alerts/model/mapping.ts';
import { RequestRefused } from '../projects/access.ts';
import type { Project } from '../projects/tables.ts';

/** Limits of the webhook receiver, which samples must meet too. */
export interface PayloadSizes {
  readonly bytesMax: number;
  readonly depthMax: number;
}

const PATH_STEPS_MAX = 100;

/** The fields of a sample payload that can be mapped. */
export const sampleFields = (sample: string, sizes: PayloadSizes): SampleField[] =>
  fieldsOf(parseSample(sample, sizes));

export function parseSample(sample: string, { bytesMax, depthMax }: PayloadSizes): unknown {
  const refused = (text: string) => new RequestRefused('bad_request', text, 'payload_example');
  const bytes = Buffer.from(sample);
  if (bytes.length > bytesMax) throw refused(`The sample payload is larger than ${bytesMax} bytes.`);
  if (depthOf(bytes) > depthMax)
    throw refused(`The sample payload is nested deeper than ${depthMax} levels.`);
  let payload: unknown;
  try {
    payload = JSON.parse(sample);
  } catch {
    throw refused('The sample payload is not valid JSON.');
  }
  if (!isObject(payload)) throw refused('The sample payload must be a JSON object.');
  return payload;
}

/** The mapping as it is stored. Each path must lead to a value of the sample. */
export function mappingText(
  { plan }: Project,
  mapping: Mapping | null,
  sample: string,
  sizes: PayloadSizes,
): string {
  if (mapping === null || Object.keys(mapping).length === 0) return '';
  const refused = (text: string) => new RequestRefused('bad_request', text, 'payload_attribute_mappings');
  if (plan !== 'premium') throw refused('Custom mapping requires the premium plan.');
  if (sample === '') throw refused('A mapping requires a sample payload.');
  const payload = parseSample(sample, sizes);
  for (const [field, path] of Object.entries(mapping)) {
    if (!MAPPED_FIELDS.some((known) => known === field)) throw refused(`${field}: unknown field.`);
    if (path.length === 0 || path.length > PATH_STEPS_MAX || valueAt(payload, path) === undefined) {
      throw refused(`${field}: the sample payload has no value at ${JSON.stringify(path)}.`);
    }
  }
  return JSON.stringify(mapping);
}
