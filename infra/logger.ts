import { type Logger as Pino, pino } from 'pino';
import type { InfraSettings } from './config/settings.ts';
import { ProductError } from './errors.ts';
import { NO_TRACER, type Span, type Tracer } from './tracing/tracer.ts';

/** The log of a process: JSON lines on standard output. Those of traced work name their trace. */
export type Logger = Pick<Pino, 'debug' | 'info' | 'warn' | 'error'>;

export const openLogger = (
  { LOG_LEVEL }: Pick<InfraSettings, 'LOG_LEVEL'>,
  tracer: Tracer = NO_TRACER,
): Pino =>
  pino({
    level: LOG_LEVEL,
    serializers: { err: errorForLog },
    ...(tracer.isOn ? { mixin: () => idsOf(tracer.active) } : {}),
  });

/** By the names that OpenTelemetry gives them in logs. */
function idsOf(span: Span | undefined): object {
  const [, trace_id, span_id] = span?.traceparent?.split('-') ?? [];
  return trace_id === undefined ? {} : { trace_id, span_id };
}

/**
 * Errors without what was sent, which may hold credentials: Node attaches the bytes of a malformed request, and the
 * Redis client its command. The stack of an error that users can see tells operators nothing: its code and detail do.
 */
function errorForLog(error: Error): object {
  const { rawPacket: _bytes, command: _command, ...rest } = pino.stdSerializers.err(error);
  if (!(error instanceof ProductError)) return rest;
  const { stack: _stack, ...short } = rest;
  return short;
}
