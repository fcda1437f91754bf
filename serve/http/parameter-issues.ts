import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ParameterIssue } from './errors.ts';
import type { ValidationIssue } from './validation.ts';

/** A response repeats at most this many unknown parameters, and this many values of a parameter. */
const REPEATED_MAX = 100;
/** A response repeats at most this many characters of a name or value. */
const REPEATED_CHARS_MAX = 200;

/** Validation issues in the format of the metrics API: unknown parameters first, then one issue per parameter. */
export function queryIssues(issues: readonly ValidationIssue[], request: FastifyRequest): ParameterIssue[] {
  const values = request.query as Readonly<Record<string, unknown>>;
  const { shape = {} } = (request.routeOptions.schema?.querystring ?? {}) as { shape?: z.ZodRawShape };
  const unknown = issues.flatMap(({ keyword, params, message }) =>
    keyword === 'unrecognized_keys'
      ? (params.keys as string[]).map(
          (name): ParameterIssue => ({
            type: 'extra_forbidden',
            loc: ['query', shortened(name)],
            msg: message,
          }),
        )
      : [],
  );
  const byName = Map.groupBy(
    issues.filter(({ keyword }) => keyword !== 'unrecognized_keys'),
    ({ path }) => path[0] ?? '',
  );
  return [
    ...unknown.slice(0, REPEATED_MAX),
    ...[...byName].map(([name, [first]]) =>
      issueOf(name, shape[name] as z.ZodType | undefined, values[name], first?.message ?? 'invalid'),
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
  const input = repeated(values);
  if (Array.isArray(values) && !isList)
    return { type: 'value_error', loc, msg: 'given more than once', input };
  if (schema instanceof z.ZodEnum) {
    return { type: 'enum', loc, msg: `one of ${schema.options.join(', ')}`, input };
  }
  if (schema instanceof z.ZodISODate) return { type: 'date', loc, msg: message, input };
  return { type: schema && isInteger(schema) ? 'int' : 'value_error', loc, msg: message, input };
}

/** Shortens a value, so that the response is not longer than the request. */
function repeated(value: unknown): unknown {
  if (!Array.isArray(value)) return shortened(value);
  return value.length > REPEATED_MAX ? `${value.length} values` : value.map(shortened);
}

function shortened<Value>(value: Value): Value | string {
  const isLong = typeof value === 'string' && value.length > REPEATED_CHARS_MAX;
  return isLong ? `${value.slice(0, REPEATED_CHARS_MAX)}…` : value;
}

/** Unwraps the schema of an optional or preprocessed value. */
function unwrapped(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return unwrapped(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodPipe && schema.in instanceof z.ZodTransform) {
    return unwrapped(schema.out as z.ZodType);
  }
  return schema;
}

/** Query integers are text that a `ZodPipe` converts to a number. */
export function isInteger(schema: z.ZodType): boolean {
  return schema instanceof z.ZodPipe && schema.out instanceof z.ZodNumber;
}
