import { z } from 'zod';
import { shapeError } from '../../../infra/shape-error.ts';
import type { Registry } from '../../../ingest/chains/registry.ts';
import { ParameterError } from '../../http/errors.ts';
import { requireKnownChain } from '../../metrics/known-chain.ts';
import type { Parameter } from '../../metrics/parameters.ts';
import type { FilterField, ListSource } from './list-page.ts';

/** Longer than any short list of addresses or hashes. */
const TYPED_CHARS_MAX = 4096;

/** The submitted filters of a list page. */
export interface FilterInput {
  /** Text by field, to fill the form again. */
  readonly typed: Readonly<Record<string, string>>;
  /** Parameters of the API. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Errors by field. */
  readonly faults: Readonly<Record<string, string>>;
}

/** Whether a parameter is repeatable. */
const isList = ({ schema }: Parameter): boolean => schema instanceof z.ZodArray;

/** Validates form fields by the rules of the API. Ignores empty and unknown fields. */
export function readFilters(
  source: ListSource,
  fields: readonly FilterField[],
  query: unknown,
  registry: Registry,
): FilterInput {
  const given = query as Readonly<Record<string, unknown>>;
  const typed: Record<string, string> = {};
  for (const { name } of source.filters) {
    // The API takes the values of checkboxes as one comma-separated text.
    const separator = fields.some((field) => field.name === name && field.choices) ? ',' : ' ';
    const text = textsOf(given[name]).join(separator).trim();
    if (text !== '') typed[name] = text.slice(0, TYPED_CHARS_MAX + 1);
  }
  const faults: Record<string, string> = {};
  for (const [name, text] of Object.entries(typed)) {
    if (text.length > TYPED_CHARS_MAX) faults[name] = `must have at most ${TYPED_CHARS_MAX} characters`;
  }
  const sent = Object.fromEntries(
    source.filters.flatMap((parameter) => {
      const text = typed[parameter.name];
      if (text === undefined || parameter.name in faults) return [];
      return [[parameter.name, isList(parameter) ? text.split(/[\s,]+/).filter(Boolean) : text]];
    }),
  );
  for (const { path, message } of source.schema.safeParse(sent, { error: shapeError }).error?.issues ?? []) {
    const name = String(path[0]);
    faults[name] ??= faultOf(source.filters.find((one) => one.name === name)?.schema, message);
  }
  return { typed, values: sent, faults: { ...impossible(source, sent, registry), ...faults } };
}

const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');

function faultOf(schema: z.ZodType | undefined, message: string): string {
  return schema instanceof z.ZodEnum ? `must be one of ${schema.options.join(', ')}` : message;
}

/** Errors of values that are valid alone, but not together or for this list. */
function impossible(
  { endpoint }: ListSource,
  values: Readonly<Record<string, unknown>>,
  registry: Registry,
): Record<string, string> {
  const { start_date, end_date } = values as Record<string, string | undefined>;
  if (start_date !== undefined && end_date !== undefined && start_date > end_date) {
    return { end_date: 'the last day must not be before the first' };
  }
  try {
    requireKnownChain(values, endpoint, registry);
    return {};
  } catch (error) {
    if (error instanceof ParameterError) return { chain: error.detail[0]?.msg ?? '' };
    throw error;
  }
}
