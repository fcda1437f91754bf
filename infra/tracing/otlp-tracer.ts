import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  type Link,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  type Tracer as SdkTracer,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import type { TracerProvider } from '@opentelemetry/sdk-trace';
import { inTime } from '../coordination/in-time.ts';
import { ProductError } from '../errors.ts';
import { ignore } from '../ignore.ts';
import { isSampled, readTraceparent, traceparentOf } from './traceparent.ts';
import type { Span, SpanAttributes, SpanOptions, Traceparent, Tracer } from './tracer.ts';

/** Further ones are left out. */
const LINKS_MAX = 32;
/** Time for what is recorded when a process ends. */
const FLUSH_MS_MAX = 3000;

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

interface OtlpTracerOptions {
  readonly provider: TracerProvider;
  readonly version: string;
  /** Whether traces of callers are continued, and receivers are told of ours. */
  readonly isPassedOn: boolean;
  /** How many of them may have work recorded that would not be otherwise. */
  readonly callersPerSecond: number;
}

/** Traces with the SDK of OpenTelemetry. It is given what it works with, and nothing of it is global. */
export class OtlpTracer implements Tracer {
  readonly isOn = true;
  readonly #options: OtlpTracerOptions;
  readonly #tracer: SdkTracer;
  readonly #active = new AsyncLocalStorage<OpenSpan | undefined>();
  #callersOf = { second: 0, count: 0 };

  constructor(options: OtlpTracerOptions) {
    this.#options = options;
    this.#tracer = options.provider.getTracer('chain-metrics', options.version);
  }

  /** Timers and batches that a span started may run on behind its end, and are no part of it then. */
  get active(): OpenSpan | undefined {
    const span = this.#active.getStore();
    return span?.isEnded ? undefined : span;
  }

  get headers(): Readonly<Record<string, string>> {
    const { active } = this;
    return active && this.#options.isPassedOn ? { traceparent: active.traceparent } : {};
  }

  start(name: string, { kind = 'internal', attributes = {}, ...of }: SpanOptions = {}): Span {
    const { parent, links } = this.#originOf(of);
    const options = { kind: KINDS[kind], links, attributes: { ...attributes } };
    return new OpenSpan(this.#tracer.startSpan(name, options, parent ?? ROOT_CONTEXT));
  }

  within<Result>(span: Span, work: () => Result): Result {
    return span instanceof OpenSpan ? this.#active.run(span, work) : work();
  }

  async span<Result>(
    name: string,
    options: SpanOptions,
    work: (span: Span) => Promise<Result>,
  ): Promise<Result> {
    const span = this.start(name, options);
    try {
      return await this.within(span, () => work(span));
    } catch (error) {
      span.fail(error);
      throw error;
    } finally {
      span.end();
    }
  }

  apart<Result>(work: () => Result): Result {
    return this.#active.run(undefined, work);
  }

  async close(): Promise<void> {
    // What is not delivered by then is lost, as everything that the collector does not take.
    await inTime(FLUSH_MS_MAX, this.#options.provider.shutdown()).catch(ignore('tracing.close'));
  }

  #originOf(of: Pick<SpanOptions, 'causes' | 'caller'>): SpanOrigin {
    if ('caller' in of) return this.#originAt(of.caller);
    return of.causes ? originOf(of.causes) : { parent: this.active?.context, links: [] };
  }

  /** Callers beyond their number get a trace of their own, by the sampler, which is linked to theirs. */
  #originAt(caller: string | undefined): SpanOrigin {
    const context = this.#options.isPassedOn ? readTraceparent(caller) : null;
    if (context === null) return NO_ORIGIN;
    if (isSampled(context) && !this.#admitCaller())
      return { parent: undefined, links: [{ context: { ...context, traceFlags: TraceFlags.NONE } }] };
    return { parent: trace.setSpanContext(ROOT_CONTEXT, context), links: [] };
  }

  #admitCaller(): boolean {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#callersOf.second) this.#callersOf = { second, count: 0 };
    return this.#callersOf.count++ < this.#options.callersPerSecond;
  }
}

interface SpanOrigin {
  readonly parent: Context | undefined;
  readonly links: Link[];
}
const NO_ORIGIN: SpanOrigin = { parent: undefined, links: [] };

/** One trace is continued. Work for several begins its own, which is linked to them. */
function originOf(causes: readonly (Traceparent | undefined)[]): SpanOrigin {
  const known = [...new Set(causes)].flatMap((cause) => readTraceparent(cause) ?? []);
  const sampled = known.filter(isSampled);
  const [first = known[0], ...others] = sampled;
  if (first === undefined) return NO_ORIGIN;
  const isOneTrace = others.every(({ traceId }) => traceId === first.traceId);
  const linked = isOneTrace ? others : sampled;
  return {
    parent: isOneTrace ? trace.setSpanContext(ROOT_CONTEXT, first) : undefined,
    links: linked.slice(0, LINKS_MAX).map((context) => ({ context })),
  };
}

class OpenSpan implements Span {
  readonly traceparent: Traceparent;
  readonly context: Context;
  isEnded = false;
  readonly #span: SdkSpan;
  #links = 0;

  constructor(span: SdkSpan) {
    this.#span = span;
    this.traceparent = traceparentOf(span.spanContext());
    this.context = trace.setSpan(ROOT_CONTEXT, span);
  }

  get isRecording(): boolean {
    return this.#span.isRecording();
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes({ ...attributes });
  }

  link(causes: readonly (Traceparent | undefined)[]): void {
    for (const cause of new Set(causes)) {
      const context = readTraceparent(cause);
      if (context !== null && isSampled(context) && this.#links++ < LINKS_MAX)
        this.#span.addLink({ context });
    }
  }

  fail(error: unknown): void {
    this.#span.setAttribute('error.type', kindOf(error));
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.isEnded = true;
    this.#span.end();
  }
}

function kindOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (error instanceof ProductError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}
