import { type SpanContext, TraceFlags } from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import type { Traceparent } from './tracer.ts';

/** Longer ones are of no version that is known. */
const CHARACTERS_MAX = 200;

/** Reads what anybody may have written; null where it names no span. */
export function readTraceparent(text: unknown): SpanContext | null {
  if (typeof text !== 'string' || text.length > CHARACTERS_MAX) return null;
  const read = parseTraceParent(text);
  return read && { ...read, traceFlags: read.traceFlags & TraceFlags.SAMPLED, isRemote: true };
}

export const traceparentOf = ({ traceId, spanId, traceFlags }: SpanContext): Traceparent =>
  `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`;

export const isSampled = ({ traceFlags }: SpanContext): boolean => (traceFlags & TraceFlags.SAMPLED) !== 0;
