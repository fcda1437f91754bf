import type { Logger } from '../logger.ts';
import { type TracingSettings, tracesAddress } from './settings.ts';
import { NO_TRACER, type TracedProcess, type Tracer } from './tracer.ts';

/** The tracer of the settings. The SDK is loaded only where traces are sent. */
export async function openTracer(
  settings: TracingSettings,
  process: TracedProcess,
  logger: Logger,
): Promise<Tracer> {
  const address = tracesAddress(settings);
  if (address === null) return NO_TRACER;
  const { openOtlpTracer } = await import('./open-otlp-tracer.ts');
  return openOtlpTracer(settings, address, process, logger);
}
