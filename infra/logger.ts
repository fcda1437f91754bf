import { type Logger as Pino, pino } from 'pino';
import type { InfraSettings } from './config/settings.ts';

/** The log of a process: JSON lines on standard output. */
export type Logger = Pick<Pino, 'debug' | 'info' | 'warn' | 'error'>;

export const openLogger = ({ LOG_LEVEL }: Pick<InfraSettings, 'LOG_LEVEL'>): Pino =>
  pino({ level: LOG_LEVEL });
