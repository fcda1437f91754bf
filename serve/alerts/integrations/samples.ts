import { fieldsOf, type SampleField, valueAt } from '../../../aggregate/alerts/formats/mapping.ts';
import { isObject, shapeOf } from '../../../aggregate/alerts/formats/values.ts';
import { MAPPED_FIELDS, type Mapping } from '../../../aggregate/alerts/model/mapping.ts';
import { RequestRefused } from '../model/access.ts';
import type { Project } from '../model/tables.ts';

/** Limits of new samples. Samples that were stored under higher limits may be larger. */
export interface PayloadSizes {
  readonly bytesMax: number;
  readonly depthMax: number;
}

const PATH_STEPS_MAX = 100;
/** Bounded, because each stored delivery contains the mapping. */
const MAPPING_BYTES_MAX = 8192;

/** The fields of a sample payload that can be mapped. */
export const sampleFields = (sample: string, sizes: PayloadSizes): SampleField[] =>
  fieldsOf(parseSample(sample, sizes));

const refused = (text: string) => new RequestRefused('bad_request', text, 'payload_example');

export function requireSize(sample: string, { bytesMax }: PayloadSizes): void {
  if (Buffer.byteLength(sample) > bytesMax)
    throw refused(`The sample payload is larger than ${bytesMax} bytes.`);
}

export function parseSample(sample: string, { depthMax }: Pick<PayloadSizes, 'depthMax'>): unknown {
  if (shapeOf(Buffer.from(sample)).depth > depthMax)
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

/** The stored form of a mapping. Each path must lead to a value of the sample. */
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
  const text = JSON.stringify(mapping);
  if (Buffer.byteLength(text) > MAPPING_BYTES_MAX)
    throw refused(`The mapping is larger than ${MAPPING_BYTES_MAX} bytes.`);
  return text;
}
