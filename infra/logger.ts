import { trace } from '@opentelemetry/api';
import { type LevelWithSilent, type Logger as Pino, pino } from 'pino';
import { ProductError } from './errors.ts';

/** The log of a process: JSON lines on standard output. Those of traced work name their trace. */
export type Logger = Pick<Pino, 'debug' | 'info' | 'warn' | 'error'>;

export const openLogger = ({ LOG_LEVEL }: { readonly LOG_LEVEL: LevelWithSilent }): Pino =>
  pino({ level: LOG_LEVEL, serializers: { err: errorForLog }, mixin: activeTrace });

/** By the names that OpenTelemetry gives them in logs. */
function activeTrace(): object {
  const span = trace.getActiveSpan();
  if (!span?.isRecording()) return {};
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
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
