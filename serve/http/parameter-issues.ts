import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { VALUES_MAX } from '../../aggregate/metrics/shared/filters.ts';
import type { ParameterIssue, ValidationIssue } from './errors.ts';

/** Every fault of a query in the form of the metrics API: unknown parameters first, then one issue of each parameter. */
export function queryIssues(issues: readonly ValidationIssue[], request: FastifyRequest): ParameterIssue[] {
  const given = request.query as Readonly<Record<string, unknown>>;
  const { shape = {} } = (request.routeOptions.schema?.querystring ?? {}) as { shape?: z.ZodRawShape };
  const unknown = issues.flatMap(({ keyword, params, message }) =>
    keyword === 'unrecognized_keys'
      ? (params.keys as string[]).map(
          (name): ParameterIssue => ({ type: 'extra_forbidden', loc: ['query', name], msg: message }),
        )
      : [],
  );
  const byName = Map.groupBy(
    issues.filter(({ keyword }) => keyword !== 'unrecognized_keys'),
    ({ path }) => path[0] ?? '',
  );
  return [
    ...unknown,
    ...[...byName].map(([name, [first]]) =>
      issueOf(name, shape[name] as z.ZodType | undefined, given[name], first?.message ?? 'invalid'),
    ),
  ];
}

function issueOf(
  name: string,
  declared: z.ZodType | undefined,
  value: unknown,
  message: string,
): ParameterIssue {
  const loc = ['query', name];
  if (value === undefined) return { type: 'missing', loc, msg: 'Field required', input: null };
  const schema = declared && unwrapped(declared);
  const isList = schema instanceof z.ZodArray;
  const values = isList && !Array.isArray(value) ? [value] : value;
  const input = Array.isArray(values) && values.length > VALUES_MAX ? `${values.length} values` : values;
  if (Array.isArray(input) && !isList)
    return { type: 'value_error', loc, msg: 'given more than once', input };
  if (schema instanceof z.ZodEnum) {
    return { type: 'enum', loc, msg: `one of ${schema.options.join(', ')}`, input };
  }
  if (schema instanceof z.ZodISODate) return { type: 'date', loc, msg: message, input };
  return { type: schema && isInteger(schema) ? 'int' : 'value_error', loc, msg: message, input };
}

/** The schema of the value itself, without what makes it optional or a list. */
function unwrapped(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return unwrapped(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodPipe && schema.in instanceof z.ZodTransform) {
    return unwrapped(schema.out as z.ZodType);
  }
  return schema;
}

/** Integers of a query are text that the schema turns into a number. */
export function isInteger(schema: z.ZodType): boolean {
  return schema instanceof z.ZodPipe && schema.out instanceof z.ZodNumber;
}
