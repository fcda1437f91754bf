/** The fields of an OpenAPI operation that a code sample uses. */
export interface SampledOperation {
  readonly parameters?: readonly SampledParameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, unknown>> } | undefined>
  >;
}

export interface SampledParameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example?: unknown;
}

/** A valid request to an operation, built from the examples of the document. */
export interface CallParts {
  readonly origin: string;
  readonly method: string;
  /** Path template, such as `/api/metrics/{metric}/schema`. */
  readonly path: string;
  /** Values of the path parameters. */
  readonly pathValues: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly isForm: boolean;
  /** The required credential: an access token, the key of an integration, or none. */
  readonly needs: 'token' | 'integration' | null;
  /** How a client reads the response; null if it has no body. */
  readonly answer: 'rows' | 'json' | 'text' | null;
}

export function callPartsOf(
  origin: string,
  method: string,
  path: string,
  { parameters = [], requestBody, security = [{}], responses }: SampledOperation,
): CallParts {
  const required = (place: string) =>
    Object.fromEntries(
      parameters
        .filter((parameter) => parameter.in === place && parameter.required)
        .map(({ name, example }) => [name, example]),
    );
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const schemes = security.flatMap(Object.keys);
  const isOpen = security.length === 0 || security.some((one) => Object.keys(one).length === 0);
  const answered = Object.keys(responses['200']?.content ?? responses['201']?.content ?? {});
  return {
    origin,
    method: method.toUpperCase(),
    path,
    pathValues: required('path'),
    query: required('query'),
    body: content?.example,
    isForm: type === 'application/x-www-form-urlencoded',
    needs: isOpen ? null : schemes.includes('integrationKey') ? 'integration' : 'token',
    // `rows` needs pages and a table format: /api/changes has a cursor, but returns one JSON document.
    answer:
      parameters.some(({ name }) => name === 'cursor') && answered.includes('text/csv')
        ? 'rows'
        : answered.length === 0
          ? null
          : answered.includes('application/json')
            ? 'json'
            : 'text',
  };
}

/** Placeholders for the key in a sample. */
export const KEYS = { token: 'the access token', integration: 'the key of the integration' } as const;

/** The path with its parameters filled in. */
export function expandPath({ path, pathValues }: CallParts): string {
  return path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(pathValues[name])));
}
