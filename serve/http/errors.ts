import type { FastifyError, FastifyInstance } from 'fastify';
import { type ErrorCode, ProductError } from '../../infra/errors.ts';

/** One thing that is wrong with a request's parameters; the shape that readers of this API know. */
export interface ParameterIssue {
  readonly type: 'missing' | 'extra_forbidden' | 'enum' | 'date' | 'int' | 'value_error';
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input?: unknown;
}

export class ParameterError extends Error {
  readonly detail: readonly ParameterIssue[];
  constructor(detail: readonly ParameterIssue[]) {
    super('request parameters fail validation');
    this.detail = detail;
  }
}

/** An answer that is an error by the rules of HTTP, with the headers that go with it. */
export class HttpError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, publicText: string, headers: Readonly<Record<string, string>> = {}) {
    super(publicText);
    this.status = status;
    this.headers = headers;
  }
}

const STATUS_OF: Partial<Record<ErrorCode, number>> = {
  input_missing: 400,
  input_unreadable: 400,
  unknown_metric: 404,
  unknown_chain: 404,
  usage: 400,
  store_unwritable: 507,
};

const TITLES: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  405: 'Method Not Allowed',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
};

/** The one place that turns errors into answers. What is not meant for the public goes to the log only. */
export function mapErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError | Error, request, reply) => {
    if (error instanceof ParameterError) return reply.code(422).send({ detail: error.detail });
    if (error instanceof HttpError) {
      return reply
        .code(error.status)
        .headers(error.headers)
        .type(PROBLEM)
        .send(problem(error.status, error.message));
    }
    const status = error instanceof ProductError ? STATUS_OF[error.code] : clientStatus(error);
    if (status === undefined) {
      request.log.error({ err: error }, 'request failed');
      return reply
        .code(500)
        .type(PROBLEM)
        .send(problem(500, 'The server failed; the operator’s log says why.'));
    }
    return reply.code(status).type(PROBLEM).send(problem(status, error.message));
  });
  app.setNotFoundHandler((request, reply) =>
    reply
      .code(404)
      .type(PROBLEM)
      .send(problem(404, `Nothing is served at ${request.method} ${request.url.split('?')[0]}; see /docs.`)),
  );
}

const PROBLEM = 'application/problem+json';

function problem(status: number, detail: string): object {
  return { type: 'about:blank', title: TITLES[status] ?? 'Error', status, detail };
}

/** Errors that Fastify itself raises for bad requests carry their status; 5xx ones are ours. */
function clientStatus(error: FastifyError | Error): number | undefined {
  const status = (error as FastifyError).statusCode;
  return status !== undefined && (status < 500 || status === 503) ? status : undefined;
}
