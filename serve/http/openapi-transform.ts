import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { SampledOperation, SampledParameter } from './code-samples/call-parts.ts';
import { type CodeSample, codeSamplesOf } from './code-samples/code-samples.ts';
import { isInteger } from './parameter-issues.ts';
import type { ResponseDescription } from './route.ts';

type Transform = NonNullable<FastifyDynamicSwaggerOptions['transform']>;
type TransformObject = NonNullable<FastifyDynamicSwaggerOptions['transformObject']>;

interface SchemaContext {
  readonly zodSchema: unknown;
  readonly jsonSchema: Record<string, unknown>;
}

const zodToJsonConfig = {
  override: ({ zodSchema, jsonSchema }: SchemaContext) => {
    // Query integers arrive as text; the document describes them as integers.
    if (zodSchema instanceof z.ZodPipe && isInteger(zodSchema)) {
      const { $schema: _, ...number } = z.toJSONSchema(zodSchema.out as z.ZodType);
      const { description, example, isText } = jsonSchema;
      for (const name of Object.keys(jsonSchema)) delete jsonSchema[name];
      const values = isText ? { anyOf: [{ type: 'string', pattern: '^\\d{1,15}$' }, number] } : number;
      Object.assign(
        jsonSchema,
        values,
        description === undefined ? {} : { description },
        example === undefined ? {} : { example },
      );
    }
    if (zodSchema instanceof z.ZodDefault && isInteger(zodSchema.unwrap() as z.ZodType)) {
      jsonSchema.default = zodSchema.def.defaultValue;
    }
    // A record over an enumeration has every key, so list the keys as properties.
    if (zodSchema instanceof z.ZodRecord && Array.isArray(jsonSchema.required)) {
      const { required, additionalProperties } = jsonSchema;
      jsonSchema.properties = Object.fromEntries(required.map((name) => [name, additionalProperties]));
      delete jsonSchema.propertyNames;
      delete jsonSchema.additionalProperties;
    }
    if (zodSchema instanceof z.ZodUndefined) jsonSchema.type = 'null';
  },
};

const toJsonSchemas = createJsonSchemaTransform({ zodToJsonConfig: zodToJsonConfig as never });

const withAllSchemas = createJsonSchemaTransformObject({ zodToJsonConfig: zodToJsonConfig as never });

interface Document {
  readonly paths: Record<string, Record<string, DocumentedOperation>>;
  readonly components: { readonly schemas: Record<string, unknown> };
}
interface DocumentedOperation extends Omit<SampledOperation, 'parameters' | 'requestBody' | 'responses'> {
  'x-codeSamples'?: readonly CodeSample[];
  readonly operationId?: string;
  readonly parameters?: (SampledParameter & { example?: unknown; readonly schema: { example?: unknown } })[];
  readonly requestBody?: { required: boolean } & NonNullable<SampledOperation['requestBody']>;
  readonly responses: Responses;
}
type Responses = Record<string, { headers?: object; content?: Record<string, { example?: unknown }> }>;

/** Transforms for @fastify/swagger that add examples, headers and code samples. Use a new pair for each server. */
export function openApiTransforms(origin: () => string): {
  transform: Transform;
  transformObject: TransformObject;
} {
  const responsesById = new Map<string, Record<string, ResponseDescription>>();
  const withOptionalBody = new Set<string>();
  return {
    transform: (input) => {
      const { operationId, response, isBodyOptional } = (input.schema ?? {}) as {
        operationId?: string;
        response?: Record<string, ResponseDescription>;
        isBodyOptional?: boolean;
      };
      if (operationId !== undefined && isBodyOptional) withOptionalBody.add(operationId);
      if (operationId !== undefined && response) responsesById.set(operationId, response);
      return toJsonSchemas(input as never) as ReturnType<Transform>;
    },
    transformObject: (input) => {
      const document = withAllSchemas(input as never) as unknown as Document;
      for (const { path, method, operation } of operationsOf(document)) {
        const { operationId = '', requestBody, responses } = operation;
        if (requestBody) requestBody.required = !withOptionalBody.has(operationId);
        for (const [status, description] of Object.entries(responsesById.get(operationId) ?? {})) {
          addHeadersAndExamples(responses, status.toUpperCase(), description);
        }
        nameExamples(operation);
        operation['x-codeSamples'] = codeSamplesOf(origin(), method, path, operation);
      }
      return withUsedSchemas(document) as never;
    },
  };
}

const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

/** Moves examples from the schema of a parameter to the parameter. */
function nameExamples({ parameters = [] }: DocumentedOperation): void {
  for (const parameter of parameters) {
    const { example, ...schema } = parameter.schema;
    if (example !== undefined) Object.assign(parameter, { schema, example });
  }
}

/** Adds the response headers and examples that the type provider drops. */
function addHeadersAndExamples(responses: Responses, status: string, description: ResponseDescription): void {
  const response = responses[status];
  if (response === undefined) return;
  if (description.headers) {
    response.headers = Object.fromEntries(
      Object.entries(description.headers).map(([name, text]) => [
        name,
        { description: text, schema: { type: 'string' } },
      ]),
    );
  }
  for (const [type, { example }] of Object.entries(description.content ?? {})) {
    const body = response.content?.[type];
    if (body && example !== undefined) body.example = example;
  }
}

/** Keeps the named schemas that the document refers to, directly or through each other. */
function withUsedSchemas({ components, ...rest }: Document): Document {
  const used = new Set<string>();
  const collect = (value: unknown) => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      collect(components.schemas[name]);
    }
  };
  collect(rest);
  const schemas = Object.fromEntries(
    Object.entries(components.schemas)
      .filter(([name]) => used.has(name))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
  return { ...rest, components: { ...components, schemas } };
}
