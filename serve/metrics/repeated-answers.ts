import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metric } from '../../aggregate/metric.ts';
import type { Clock } from '../../infra/ports.ts';
import { type Addressed, countedAddress } from '../http/client-address.ts';
import { PART_BYTES } from '../http/connections.ts';
import { hasAnswer } from '../http/entity-tags.ts';
import { hasClearHost } from '../http/host-header.ts';
import { headLines, inOnePiece, sendPrepared } from '../http/prepared-head.ts';
import { type CountAhead, isLimitHeader } from '../http/rate-limit.ts';
import { type Counted, countedCaller } from '../http/readers.ts';
import { measure, type RequestMeasures } from '../http/request-measures.ts';
import { SentTogether } from '../http/sent-together.ts';
import { PRIVATE_TOKEN } from '../identity/accounts/principal.ts';
import { answerKey } from './answer-key.ts';
import type { Answer, AnswerCache } from './answers.ts';
import type { Freshness } from './freshness.ts';

/** What a cached answer was sent with, by its status; true as long as the freshness of its rows is this object. */
interface Sent {
  readonly metric: Metric;
  readonly route: string;
  readonly freshness: object;
  readonly heads: { 200?: string; 304?: string };
}

/** What the routes do before they look for a cached answer. */
export interface BeforeRoutes {
  readonly addressOf: (raw: IncomingMessage) => Addressed;
  /** The caller that a header was verified for; null for one that is not verified yet. */
  readonly findCaller: (authorization: string) => { readonly account: string | undefined } | null;
  readonly countAhead: CountAhead;
  readonly requests: RequestMeasures;
}

/**
 * Sends a cached answer again as its route sent it a moment ago, without the route: hooks, the search for the route and
 * the check of each header take longer than all that Node does for a request. What is not plainly the same is left to
 * the route.
 */
export class RepeatedAnswers {
  readonly #answers: AnswerCache;
  readonly #freshness: Freshness;
  readonly #clock: Clock;
  readonly #sentTogether = new SentTogether();
  readonly #sent = new WeakMap<Answer, Sent>();

  constructor(of: { answers: AnswerCache; freshness: Freshness; clock: Clock }) {
    this.#answers = of.answers;
    this.#freshness = of.freshness;
    this.#clock = of.clock;
  }

  /** Remembers the head of a cached answer that its route has just sent. */
  remember(
    request: FastifyRequest,
    reply: FastifyReply,
    of: { metric: Metric; answer: Answer; freshness: object },
  ): void {
    const { metric, answer, freshness } = of;
    const status = reply.statusCode;
    if (request.method !== 'GET' || answer.body.length > PART_BYTES) return;
    if ((status !== 200 && status !== 304) || !reply.raw.headersSent) return;
    const known = this.#sent.get(answer);
    const heads = known?.freshness === freshness ? known.heads : {};
    const headers = Object.entries(reply.getHeaders()).filter(([name]) => !isLimitHeader(name));
    heads[status] = inOnePiece(headLines(Object.fromEntries(headers)));
    if (heads !== known?.heads) {
      this.#sent.set(answer, { metric, freshness, heads, route: request.routeOptions.url ?? '' });
    }
  }

  /** Answers a request; false where its route has to. */
  answer(raw: IncomingMessage, response: ServerResponse, before: BeforeRoutes): boolean {
    const started = performance.now();
    const { headers, method, url = '' } = raw;
    if (method !== 'GET' || headers['content-encoding'] !== undefined || !hasClearHost(raw)) return false;
    const { coded } = answerKey({ url, headers });
    const found = this.#find(coded);
    if (found === undefined) return false;
    const { answer, sent } = found;
    const status = hasAnswer(raw, answer.etag) ? 304 : 200;
    const head = sent.heads[status];
    if (head === undefined) return false;
    const caller = callerOf(raw, before);
    if (caller === null) return false;
    const limits = caller.knownAccount === undefined ? before.countAhead(raw, countedAddress(caller)) : {};
    if (limits === null) return false;
    this.#answers.countHit();
    const body = status === 200 ? answer.body : null;
    if (body !== null) this.#answers.hold(coded, answer, countedCaller(caller), response);
    const labels = { method, route: sent.route, status: String(status) };
    const onSent = () => measure(before.requests, labels, performance.now() - started, body?.length ?? 0);
    response.on('finish', onSent);
    const lines = head + headLines(limits);
    this.#sentTogether.add(() => sendPrepared(response, lines, body));
    return true;
  }

  /** The answer of this key with what was sent of it, where all of that would be said again. */
  #find(key: string): { answer: Answer; sent: Sent } | undefined {
    const answer = this.#freshness.isCurrent ? this.#answers.find(key) : undefined;
    const sent = answer && this.#sent.get(answer);
    if (answer === undefined || sent === undefined) return undefined;
    const { metric, freshness } = sent;
    if (answer.version !== this.#answers.version(metric, answer.query)) return undefined;
    const isSaid = this.#freshness.headers(metric, answer.query, this.#clock.now()) === freshness;
    return isSaid ? { answer, sent } : undefined;
  }
}

function callerOf(raw: IncomingMessage, { addressOf, findCaller }: BeforeRoutes): Counted | null {
  const { authorization, [PRIVATE_TOKEN]: personal } = raw.headers;
  if (personal !== undefined) return null;
  const address = addressOf(raw);
  if (authorization === undefined) return address;
  const verified = findCaller(authorization);
  return (
    verified && { ...address, ...(verified.account === undefined ? {} : { knownAccount: verified.account }) }
  );
}
