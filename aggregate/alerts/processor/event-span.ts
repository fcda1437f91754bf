import type { Span, Tracer } from '../../../infra/tracing/tracer.ts';
import { ALERTS_TOPIC, type EventHead } from '../model/event.ts';
import type { Reduction } from '../reducer/reduce.ts';

/** What becomes of an event, as a span that follows from the request that it came with. */
export function startEventSpan(
  tracer: Tracer,
  { traceparent }: EventHead,
  { position, outcomes }: Reduction,
): Span {
  const attributes = {
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': ALERTS_TOPIC,
    'chain_metrics.alert.position': position,
    'chain_metrics.alert.items': outcomes.length,
    'chain_metrics.alert.created': outcomes.filter((outcome) => outcome === 'created').length,
  };
  return tracer.start(`process ${ALERTS_TOPIC}`, { kind: 'consumer', causes: [traceparent], attributes });
}
