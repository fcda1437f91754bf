import { readdirSync, readFileSync } from 'node:fs';

/** The parts of an OpenAPI document from which clients are generated. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, ApiSchema>> };
}
export interface ApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly ApiParameter[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, ApiContent>> }>>;
}
interface ApiParameter {
  readonly name: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: ApiSchema;
}
interface ApiContent {
  readonly schema: ApiSchema;
}
export interface ApiSchema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly ApiSchema[];
  readonly items?: ApiSchema;
  readonly properties?: Readonly<Record<string, ApiSchema>>;
  readonly 'x-unit'?: string;
}

const SNAPSHOTS = new URL('../../test/serve/http/openapi/', import.meta.url);

/** Reads the OpenAPI document from its snapshot files. A test compares them with the running server. */
export function readOpenApiDocument(): ApiDocument {
  const { paths, components, ...rest } = read('document');
  return {
    ...rest,
    paths: Object.fromEntries(paths.map((path: string) => [path, read(`paths${path}`)])),
    components: {
      ...components,
      schemas: Object.fromEntries(
        readdirSync(new URL('schemas/', SNAPSHOTS))
          .map((file) => file.replace(SUFFIX, ''))
          .sort()
          .map((name) => [name, read(`schemas/${name}`)]),
      ),
    },
  };
}

const SUFFIX = '.snapshot.json';
const read = (name: string) => JSON.parse(readFileSync(new URL(`${name}${SUFFIX}`, SNAPSHOTS), 'utf8'));
