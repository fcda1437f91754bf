import { z } from 'zod';
import { shapeError } from '../../../infra/shape-error.ts';
import type { Registry } from '../../../ingest/chains/registry.ts';
import { ParameterError } from '../../http/errors.ts';
import { requireKnownChain } from '../../metrics/known-chain.ts';
import type { Parameter } from '../../metrics/parameters.ts';
import type { FilterField, ListSource } from './list-page.ts';

/** Longer than any address, hash or list of a few of them. */
const TYPED_CHARS_MAX = 4096;

/** What a visitor typed into the form of a page. */
export interface GivenFilters {
  /** By field, to be shown again. */
  readonly typed: Readonly<Record<string, string>>;
  /** As the API takes them. */
  readonly values: Readonly<Record<string, unknown>>;
  /** What is wrong, by field; empty when nothing is. */
  readonly faults: Readonly<Record<string, string>>;
}

/** Whether the API takes several values of a parameter. */
export const isList = ({ schema }: Parameter): boolean => schema instanceof z.ZodArray;

/** Reads the fields of a form by the rules of the API. A field that is left empty, and an unknown one, says nothing. */
export function readFilters(
  source: ListSource,
  fields: readonly FilterField[],
  query: unknown,
  registry: Registry,
): GivenFilters {
  const given = query as Readonly<Record<string, unknown>>;
  const typed: Record<string, string> = {};
  for (const { name } of source.filters) {
    // Each box that is ticked is a value; the API takes them as one text.
    const separator = fields.some((field) => field.name === name && field.choices) ? ',' : ' ';
    const text = textsOf(given[name]).join(separator).trim();
    if (text !== '') typed[name] = text.slice(0, TYPED_CHARS_MAX + 1);
  }
  const faults: Record<string, string> = {};
  for (const [name, text] of Object.entries(typed)) {
    if (text.length > TYPED_CHARS_MAX) faults[name] = `longer than ${TYPED_CHARS_MAX} letters`;
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
  return schema instanceof z.ZodEnum ? `one of ${schema.options.join(', ')}` : message;
}

/** What is wrong although each value alone has the right form. */
function impossible(
  { endpoint }: ListSource,
  values: Readonly<Record<string, unknown>>,
  registry: Registry,
): Record<string, string> {
  const { start_date, end_date } = values as Record<string, string | undefined>;
  if (start_date !== undefined && end_date !== undefined && start_date > end_date) {
    return { end_date: 'a day before the first one' };
  }
  try {
    requireKnownChain(values, endpoint, registry);
    return {};
  } catch (error) {
    if (error instanceof ParameterError) return { chain: error.detail[0]?.msg ?? '' };
    throw error;
  }
}
