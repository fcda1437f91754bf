import createFetchClient, { type Client } from 'openapi-fetch';
import { DEFAULT_RETRY, type RetryPolicy, type SendRequest, withRetries } from './retry.ts';
import type { paths } from './schema.ts';

export interface ClientOptions {
  /** URL of the server, such as `https://metrics.example.org`. */
  readonly baseUrl: string;
  /** API key or access token. A request with its own header `Authorization` keeps that. */
  readonly apiKey?: string;
  readonly retry?: Partial<RetryPolicy>;
  /** Sends the requests; defaults to the global `fetch`. */
  readonly fetch?: SendRequest;
}

/** Has `GET`, `POST`, `PUT` and `DELETE`, typed by path; see openapi-fetch. */
export type ChainMetricsClient = Client<paths>;

export function createClient({ baseUrl, apiKey, retry, fetch: send }: ClientOptions): ChainMetricsClient {
  const client = createFetchClient<paths>({
    baseUrl,
    fetch: withRetries(send ?? ((request) => fetch(request)), { ...DEFAULT_RETRY, ...retry }),
  });
  client.use({
    onRequest: ({ request, schemaPath }) => (schemaPath.startsWith(OAUTH) ? asForm(request) : request),
  });
  if (apiKey !== undefined) {
    client.use({
      onRequest: ({ request }) => {
        if (!request.headers.has('authorization')) request.headers.set('authorization', `Bearer ${apiKey}`);
        return request;
      },
    });
  }
  return client;
}

/** Paths of OAuth 2.0, which expect forms instead of JSON. */
const OAUTH = '/oauth/';

async function asForm(request: Request): Promise<Request> {
  if (request.headers.get('content-type') !== 'application/json') return request;
  const headers = new Headers(request.headers);
  headers.set('content-type', 'application/x-www-form-urlencoded');
  return new Request(request, { headers, body: new URLSearchParams(await request.json()).toString() });
}
