import { reasonOf } from '../../infra/errors.ts';
import { type Finding, fine, warning } from '../../infra/finding.ts';
import { pairsIn, type TracingSettings, tracesAddress } from '../../infra/tracing/settings.ts';

const ANSWER_MS_MAX = 10_000;
/** Of the HTTP statuses, those that tell that the address is the wrong one or the headers are. */
const REFUSED = [401, 403, 404, 405, 415];

/** Whether the collector of traces takes a request that holds none; nothing is found where there is none. */
export async function checkCollector(settings: TracingSettings): Promise<Finding[]> {
  const address = tracesAddress(settings);
  if (address === null) return [];
  const { host, pathname } = new URL(address);
  const remedy =
    'traces are lost meanwhile: set OTEL_EXPORTER_OTLP_ENDPOINT to a collector that takes OTLP over HTTP';
  try {
    const headers = {
      ...pairsIn(settings.OTEL_EXPORTER_OTLP_HEADERS),
      'content-type': 'application/x-protobuf',
    };
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const { status } = await fetch(address, { method: 'POST', headers, body: '', signal });
    if (REFUSED.includes(status) || status >= 500)
      return [warning('traces', `${host}${pathname} answers with ${status}`, remedy)];
    return [fine('traces', `${host}${pathname} takes them`)];
  } catch (error) {
    // Of a connection that is refused there is only a code.
    const { cause = error } = error as { cause?: unknown };
    const reason = reasonOf(cause) || String((cause as { code?: unknown }).code);
    return [warning('traces', `${host} does not answer: ${reason}`, remedy)];
  }
}
