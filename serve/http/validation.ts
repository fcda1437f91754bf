import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { shapeError } from '../../infra/shape-error.ts';

/** A validation issue, with the path of the value in the query, the path parameters or the body. */
export interface ValidationIssue {
  readonly keyword: string;
  readonly path: readonly string[];
  readonly message: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** A request whose query, path or body fails validation. */
export class InvalidRequest extends Error {
  readonly statusCode = 400;
  readonly issues: readonly ValidationIssue[];

  constructor(issues: readonly ValidationIssue[]) {
    super(issues.map(({ path, message }) => [...path, message].join(' ')).join('; '));
    this.issues = issues;
  }
}

/** Fastify validator compiler for zod schemas. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (data) => {
    const read = schema.safeParse(data, { error: shapeError });
    if (read.success) return { value: read.data };
    const issues = read.error.issues.map(
      ({ code: keyword, path, message, ...params }): ValidationIssue => ({
        keyword: String(keyword),
        path: path.map(String),
        message,
        params,
      }),
    );
    return { error: new InvalidRequest(issues) };
  };
