import { ApiError } from './api-error.ts';
import type { ChainMetricsClient } from './client.ts';
import type { paths } from './schema.ts';

type GetOf<Path extends keyof paths> = paths[Path]['get'];
type QueryOf<Operation> = Operation extends { parameters: { query?: infer Query } }
  ? NonNullable<Query>
  : never;
type JsonOf<Operation> = Operation extends {
  responses: { 200: { content: { 'application/json': infer Body } } };
}
  ? Body
  : never;
type IsPaged<Query> = [Query] extends [never] ? false : 'cursor' extends keyof Query ? true : false;

/** Paths that return rows in pages. */
export type MetricPath = {
  [Path in keyof paths]: IsPaged<QueryOf<GetOf<Path>>> extends true
    ? JsonOf<GetOf<Path>> extends readonly unknown[]
      ? Path
      : never
    : never;
}[keyof paths];
/** A row of a path. */
export type MetricRow<Path extends MetricPath> =
  JsonOf<GetOf<Path>> extends readonly (infer Row)[] ? Row : never;
/** The parameters of a path; `limit` is the maximum number of rows of one page. */
export type MetricQuery<Path extends MetricPath> = Omit<QueryOf<GetOf<Path>>, 'cursor' | 'format' | 'bom'>;

type GetPage = (
  path: string,
  init: { params: { query: object }; signal: AbortSignal | null },
) => Promise<{ data?: readonly unknown[]; error?: unknown; response: Response }>;

/** Iterates over all rows of a path, page by page. Throws an `ApiError` for an error response. */
export async function* rows<Path extends MetricPath>(
  client: ChainMetricsClient,
  path: Path,
  query: MetricQuery<Path>,
  { signal = null }: { readonly signal?: AbortSignal | null } = {},
): AsyncGenerator<MetricRow<Path>, void, undefined> {
  // TypeScript cannot resolve the types of a generic path here; the signature of this function has them.
  const getPage = client.GET as GetPage;
  let cursor: string | null = null;
  do {
    const page = { ...query, ...(cursor !== null && { cursor }) };
    const { data, error, response } = await getPage(path, { params: { query: page }, signal });
    if (data === undefined) throw new ApiError(response, error);
    yield* data as MetricRow<Path>[];
    cursor = nextCursor(response);
  } while (cursor !== null);
}

/** The cursor in the link to the next page (RFC 8288). */
function nextCursor({ headers }: Response): string | null {
  const link = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('link') ?? '')?.[1];
  return link === undefined ? null : new URL(link, 'http://server').searchParams.get('cursor');
}
