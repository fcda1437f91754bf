import { randomUUID } from 'node:crypto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger } from '../logger.ts';
import { OtlpTracer } from './otlp-tracer.ts';
import { leavesOut, samplerOf } from './samplers.ts';
import { pairsIn, type TracingSettings } from './settings.ts';
import { ToldExporter } from './told-exporter.ts';
import type { TracedProcess, Tracer } from './tracer.ts';

const SERVICE_NAME = 'chain-metrics';

/** A tracer that sends to an address. Serving never waits for it: what its queue has no room for is dropped. */
export function openOtlpTracer(
  settings: TracingSettings,
  address: string,
  { version, roles }: TracedProcess,
  logger: Logger,
): Tracer {
  const given = pairsIn(settings.OTEL_RESOURCE_ATTRIBUTES);
  const { OTEL_SERVICE_NAME: serviceName = given['service.name'] ?? SERVICE_NAME } = settings;
  const resource = defaultResource().merge(
    resourceFromAttributes({
      'service.instance.id': randomUUID(),
      'service.version': version,
      'chain_metrics.roles': [...roles],
      ...given,
      'service.name': serviceName,
    }),
  );
  const exporter = new OTLPTraceExporter({
    url: address,
    headers: pairsIn(settings.OTEL_EXPORTER_OTLP_HEADERS),
    timeoutMillis: settings.OTEL_EXPORTER_OTLP_TIMEOUT,
    compression: settings.OTEL_EXPORTER_OTLP_COMPRESSION as never,
  });
  const processor = new BatchSpanProcessor({
    exporter: new ToldExporter(exporter, address, logger),
    maxQueueSize: settings.OTEL_BSP_MAX_QUEUE_SIZE,
    maxExportBatchSize: Math.min(settings.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, settings.OTEL_BSP_MAX_QUEUE_SIZE),
    scheduledDelayMillis: settings.OTEL_BSP_SCHEDULE_DELAY,
    // Longer than the exporter itself tries.
    exportTimeoutMillis: settings.OTEL_EXPORTER_OTLP_TIMEOUT + 1000,
  });
  const sampler = samplerOf(settings);
  return new OtlpTracer({
    provider: new TracerProvider({ resource, sampler, spanProcessors: [processor] }),
    version,
    isPassedOn: settings.OTEL_PROPAGATORS.split(',').some((name) => name.trim() === 'tracecontext'),
    callersPerSecond: leavesOut(settings) ? settings.TRACED_CALLERS_PER_SECOND : Number.POSITIVE_INFINITY,
  });
}
