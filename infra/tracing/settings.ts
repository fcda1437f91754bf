import { z } from 'zod';
import { whole, yesNo } from '../config/kinds.ts';

const address = z.url({ protocol: /^https?$/, error: 'expected an http or https address' });
const pairs = z
  .string()
  .regex(
    /^(\s*[^\s,=]+\s*=[^,]*(,|$))*$/,
    'expected name=value, several with commas, other characters as %2C',
  )
  .default('');
const protocol = z
  .enum(['http/protobuf'], 'expected http/protobuf: this program does not speak gRPC, collectors take both')
  .default('http/protobuf');

/** Settings of traces, by the names of OpenTelemetry. */
export const tracingSettings = {
  OTEL_TRACES_EXPORTER: z
    .enum(['otlp', 'none'])
    .optional()
    .describe('`otlp` sends traces, `none` does not; default: they are sent if an endpoint is set'),
  OTEL_SDK_DISABLED: yesNo('false').describe('`true` traces nothing, whatever else is set'),
  OTEL_EXPORTER_OTLP_ENDPOINT: address
    .optional()
    .describe('base address of the collector; default with OTEL_TRACES_EXPORTER=otlp: http://localhost:4318'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: address
    .optional()
    .describe('full address that accepts traces; default: the address of the collector with /v1/traces'),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.describe('protocol of the collector'),
  OTEL_EXPORTER_OTLP_HEADERS: pairs.describe(
    'headers for the collector, such as an API key, as name=value, separated by commas',
  ),
  OTEL_EXPORTER_OTLP_COMPRESSION: z
    .enum(['none', 'gzip'])
    .default('none')
    .describe('compression of what is sent to the collector'),
  OTEL_EXPORTER_OTLP_TIMEOUT: whole(10_000, 1, 60_000).describe(
    'milliseconds to deliver a batch to the collector, retries included',
  ),
  OTEL_SERVICE_NAME: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'name under which traces show this program; default: service.name of OTEL_RESOURCE_ATTRIBUTES, else chain-metrics',
    ),
  OTEL_RESOURCE_ATTRIBUTES: pairs.describe(
    'further attributes of this process, as name=value, separated by commas',
  ),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on')
    .describe('which traces are recorded; `parentbased_*` follows the sampling decision of the caller'),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0(\.\d+)?|\.\d+|1(\.0+)?)$/, 'expected a number from 0 to 1')
    .default('1')
    .transform(Number)
    .describe('fraction of all traces that a traceidratio sampler records'),
  OTEL_PROPAGATORS: z
    .string()
    .default('tracecontext,baggage')
    .describe(
      '`tracecontext` continues traces of callers and passes them on to receivers, in the header traceparent; other formats are not read',
    ),
  OTEL_BSP_MAX_QUEUE_SIZE: whole(2048, 1, 100_000).describe(
    'spans that may wait to be sent; beyond that new ones are dropped',
  ),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: whole(512, 1, 10_000).describe('spans that are sent at once'),
  OTEL_BSP_SCHEDULE_DELAY: whole(5000, 1, 60_000).describe(
    'milliseconds after which spans are sent even if they are fewer than OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
  ),
  TRACED_CALLERS_PER_SECOND: whole(10).describe(
    'requests a second that are recorded because their caller asks for it, if OTEL_TRACES_SAMPLER records only some traces',
  ),
};

export type TracingSettings = z.output<z.ZodObject<typeof tracingSettings>>;

/** Whether traces are sent, and where. */
export function tracesAddress({
  OTEL_SDK_DISABLED,
  OTEL_TRACES_EXPORTER,
  OTEL_EXPORTER_OTLP_ENDPOINT,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
}: TracingSettings): string | null {
  if (OTEL_SDK_DISABLED || OTEL_TRACES_EXPORTER === 'none') return null;
  if (OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) return OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  if (OTEL_EXPORTER_OTLP_ENDPOINT === undefined && OTEL_TRACES_EXPORTER === undefined) return null;
  const base = OTEL_EXPORTER_OTLP_ENDPOINT ?? 'http://localhost:4318';
  return `${base.replace(/\/$/, '')}/v1/traces`;
}

/** Pairs of a setting, whose names and values may be percent-encoded. */
export const pairsIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split(',')
      .filter((pair) => pair.includes('='))
      .map((pair) => {
        const at = pair.indexOf('=');
        return [decoded(pair.slice(0, at)), decoded(pair.slice(at + 1))];
      }),
  );

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.trim());
  } catch {
    // A value that is not encoded stands for itself.
    return text.trim();
  }
}
