import { type Logger as Pino, pino } from 'pino';
import type { InfraSettings } from './config/settings.ts';

/** The log of a process: JSON lines on standard output. */
export type Logger = Pick<Pino, 'debug' | 'info' | 'warn' | 'error'>;

export const openLogger = ({ LOG_LEVEL }: Pick<InfraSettings, 'LOG_LEVEL'>): Pino =>
  pino({ level: LOG_LEVEL, serializers: { err: withoutRequest } });

/**
 * Errors without what was sent, which may hold credentials: Node attaches the bytes of a malformed request, and the
 * Redis client its command.
 */
function withoutRequest(error: Error): object {
  const { rawPacket: _bytes, command: _command, ...rest } = pino.stdSerializers.err(error);
  return rest;
}
