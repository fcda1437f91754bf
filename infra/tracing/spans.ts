import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { ProductError } from '../errors.ts';
import type { Traceparent } from '../ports.ts';

interface CausedSpanOptions extends SpanOptions {
  /** Spans of other processes or earlier jobs that caused this span. Absent: the parent is the active span. */
  readonly causes?: readonly (Traceparent | undefined)[];
}

/** Links of one span; more are dropped. */
const LINKS_MAX = 32;

/** Starts a span that continues the trace of its first recorded cause, and links it to the others. */
export function startSpan(name: string, { causes, ...options }: CausedSpanOptions = {}): Span {
  const { parent, links } = causes ? originOf(causes) : { parent: context.active(), links: [] };
  return trace.getTracer('chain-metrics').startSpan(name, { ...options, links }, parent);
}

/** Runs work in a new span. Attributes must be few and short, and never contain input of callers or chains. */
export async function inSpan<Result>(
  name: string,
  options: CausedSpanOptions,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const span = startSpan(name, options);
  try {
    return await withActiveSpan(span, () => work(span));
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Runs work with an active span. */
export const withActiveSpan = <Result>(span: Span, work: () => Result): Result =>
  context.with(trace.setSpan(context.active(), span), work);

/** Runs work that several callers share, so that it is not part of the trace of the first one. */
export const withoutSpan = <Result>(work: () => Result): Result => context.with(ROOT_CONTEXT, work);

/** Marks a span as failed. Records only the kind of the error, since its message may contain input. */
export function failSpan(span: Span, error: unknown): void {
  span.setAttribute('error.type', kindOf(error));
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The active span as a header for other processes and later jobs; undefined if there is none or it has ended. */
export function activeTraceparent(): Traceparent | undefined {
  const span = trace.getActiveSpan();
  return span && traceparentOf(span);
}

/** Unsampled spans are propagated too, so that no process records their trace. */
export function traceparentOf(span: Span): Traceparent | undefined {
  const isSampled = (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;
  if (isSampled && !span.isRecording()) return undefined;
  const carrier: { traceparent?: Traceparent } = {};
  propagation.inject(trace.setSpan(ROOT_CONTEXT, span), carrier);
  return carrier.traceparent;
}

function originOf(causes: readonly (Traceparent | undefined)[]) {
  const known = [...new Set(causes)].flatMap((traceparent) => {
    const parent = propagation.extract(ROOT_CONTEXT, { traceparent });
    const caused = trace.getSpanContext(parent);
    return caused ? [{ parent, context: caused }] : [];
  });
  const recorded = known.filter(({ context }) => (context.traceFlags & TraceFlags.SAMPLED) !== 0);
  const [first = known[0], ...others] = recorded;
  const parent: Context = first?.parent ?? ROOT_CONTEXT;
  return { parent, links: others.slice(0, LINKS_MAX).map(({ context }) => ({ context })) };
}

function kindOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (error instanceof ProductError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}
