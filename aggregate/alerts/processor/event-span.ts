import { type Span, SpanKind } from '@opentelemetry/api';
import { startSpan } from '../../../infra/tracing/spans.ts';
import { ALERTS_TOPIC, type EventHead } from '../model/event.ts';
import type { Reduction } from '../reducer/reduce.ts';

/** A span for processing an event, linked to its request. */
export function startEventSpan({ traceparent }: EventHead, { position, outcomes }: Reduction): Span {
  const attributes = {
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': ALERTS_TOPIC,
    'chain_metrics.alert.position': position,
    'chain_metrics.alert.items': outcomes.length,
    'chain_metrics.alert.created': outcomes.filter((outcome) => outcome === 'created').length,
  };
  const causes = [traceparent];
  return startSpan(`process ${ALERTS_TOPIC}`, { kind: SpanKind.CONSUMER, causes, attributes });
}
