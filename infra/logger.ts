import { trace } from '@opentelemetry/api';
import { type LevelWithSilent, type Logger as Pino, pino } from 'pino';
import { ProductError } from './errors.ts';

/** The log of a process: JSON lines on standard output. Lines of traced work carry the trace id. */
export type Logger = Pick<Pino, 'debug' | 'info' | 'warn' | 'error'>;

export const openLogger = ({ LOG_LEVEL }: { readonly LOG_LEVEL: LevelWithSilent }): Pino =>
  pino({ level: LOG_LEVEL, serializers: { err: errorForLog }, mixin: activeTrace });

/** Field names as OpenTelemetry defines them for logs. */
function activeTrace(): object {
  const span = trace.getActiveSpan();
  if (!span?.isRecording()) return {};
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
}

/**
 * Omits data that were sent, since they may contain credentials: Node attaches the bytes of a malformed request, and the
 * Redis client attaches its command. Omits the stack of a `ProductError`, since its code and detail identify it.
 */
function errorForLog(error: Error): object {
  const { rawPacket: _bytes, command: _command, ...rest } = pino.stdSerializers.err(error);
  if (!(error instanceof ProductError)) return rest;
  const { stack: _stack, ...short } = rest;
  return short;
}
