import { context, diag, type Exception, logs, propagation, trace } from '@opentelemetry/api';
import { readSecret } from '../config/read.ts';
import { withTimeout } from '../coordination/with-timeout.ts';
import { ignore } from '../ignore.ts';
import type { Logger } from '../logger.ts';

const SERVICE_NAME = 'chain-metrics';
/**
 * Resource detectors. The one for the command line is excluded, since it may contain keys. Detectors that read files are
 * excluded, since spans would wait for them while the engine occupies the threads that read files.
 */
const DETECTORS = 'serviceinstance,env';
/** A secret setting: it may contain the key of a collector. The Helm chart mounts secrets as files. */
const HEADERS = 'OTEL_EXPORTER_OTLP_HEADERS';
/** Time limit for sending the last spans at the end of a process. */
const FLUSH_MS_MAX = 3000;
/** Interval of warnings: a collector that is down fails every batch. */
const WARNING_MS = 60_000;
const VARIABLES = [
  'OTEL_TRACES_EXPORTER',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
];

/** Whether the environment enables traces. The SDK of OpenTelemetry reads the other variables itself. */
export const isTracingEnabled = (): boolean => VARIABLES.some((name) => (process.env[name] ?? '') !== '');

/** The process in the resource attributes of spans. */
interface TracedProcess {
  readonly version: string;
  readonly roles: readonly string[];
}

/** Loads and starts the SDK if the environment enables traces. Returns a function that stops it. */
export async function startTracing(
  { version, roles }: TracedProcess,
  logger: Logger,
): Promise<() => Promise<void>> {
  if (!isTracingEnabled()) return async () => undefined;
  const [{ NodeSDK }, { setGlobalErrorHandler }, { defaultResource, resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-node'),
      import('@opentelemetry/core'),
      import('@opentelemetry/resources'),
    ]);
  process.env.OTEL_NODE_RESOURCE_DETECTORS ||= DETECTORS;
  const headers = readSecret(HEADERS, process.env);
  if (headers !== undefined) process.env[HEADERS] = headers;
  const product = {
    'service.name': SERVICE_NAME,
    'service.version': version,
    'chain_metrics.roles': [...roles],
  };
  const sdk = new NodeSDK({
    resource: defaultResource().merge(resourceFromAttributes(product)),
    metricReaders: [],
    logRecordProcessors: [],
  });
  const warn = (reason: string) => logger.warn({ reason }, 'traces are incomplete');
  diag.setLogger({ ...SILENT, error: warn, warn });
  sdk.start();
  const warnSeldom = atMostEvery(WARNING_MS, warn);
  diag.setLogger({ ...SILENT, error: warnSeldom, warn: warnSeldom }, { suppressOverrideMessage: true });
  setGlobalErrorHandler((error) => warnSeldom(reasonOf(error)));
  return async () => {
    await withTimeout(FLUSH_MS_MAX, sdk.shutdown()).catch(ignore('tracing.stop'));
    for (const api of [trace, context, propagation, logs, diag]) api.disable();
  };
}

const SILENT = { info: () => {}, debug: () => {}, verbose: () => {} };

function atMostEvery(ms: number, report: (reason: string) => void): (reason: string) => void {
  let nextAt = 0;
  return (reason) => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + ms;
    report(reason);
  };
}

/** The message of an error, or its code: Node reports a refused connection without a message. */
const reasonOf = (error: Exception): string =>
  typeof error === 'string' ? error : error.message || String(error.code);
