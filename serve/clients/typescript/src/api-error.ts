/** An invalid parameter. */
export interface ApiIssue {
  readonly type: string;
  /** `query`, `path` or `body`, then the name; `request` if the server sends only the name, as below `/api/v4`. */
  readonly loc: readonly string[];
  readonly msg: string;
}

/** An error response of the server. */
export class ApiError extends Error {
  readonly status: number;
  /** For example `too_many_requests`, `invalid_parameters` or `invalid_token`. */
  readonly code: string;
  /** The invalid parameters; empty for other errors. */
  readonly issues: readonly ApiIssue[];
  /** Seconds to wait before the next request, from the header `Retry-After`. */
  readonly retryAfter: number | null;

  constructor(response: Response, body: unknown) {
    const fields = isObject(body) ? body : {};
    const issues = Array.isArray(fields.detail) ? (fields.detail as ApiIssue[]) : issuesByName(fields.errors);
    super(messageOf(fields, issues) ?? `The server answered ${response.status}.`);
    this.name = 'ApiError';
    this.status = response.status;
    this.code = typeof fields.error === 'string' ? fields.error : (CODES[response.status] ?? 'error');
    this.issues = issues;
    const seconds = response.headers.get('retry-after') ?? '';
    this.retryAfter = /^\d+$/.test(seconds) ? Number(seconds) : null;
  }
}

/** Codes of responses without an error code. */
const CODES: Readonly<Record<number, string>> = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  422: 'invalid_parameters',
  429: 'too_many_requests',
  500: 'internal',
  503: 'unavailable',
};

/** Converts errors of `/api/v4`, which are lists of texts by parameter. */
const issuesByName = (errors: unknown): ApiIssue[] =>
  Object.entries(isObject(errors) ? errors : {}).flatMap(([name, texts]) =>
    [texts].flat().map((msg) => ({ type: 'value_error', loc: ['request', name], msg: String(msg) })),
  );

function messageOf(fields: Record<string, unknown>, issues: readonly ApiIssue[]): string | undefined {
  const text = [fields.detail, fields.message, fields.error_description].find(
    (message) => typeof message === 'string',
  );
  if (typeof text === 'string' || issues.length === 0) return text as string | undefined;
  return issues.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; ');
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
