import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { Message, Runtime, Traceparent } from '../ports.ts';
import { activeTraceparent, inSpan } from './spans.ts';

/** Publishes messages as a span, whose place in its trace they carry to their consumers. */
export function publishTraced(
  runtime: Pick<Runtime, 'log'>,
  topic: string,
  messages: readonly Message[],
): Promise<void> {
  const attributes = messagingAttributes(runtime, 'send', topic, messages.length);
  return inSpan(`send ${topic}`, { kind: SpanKind.PRODUCER, attributes }, () => {
    const traceparent = activeTraceparent();
    // Messages may make their bytes when they are asked for: a copy would make them here.
    if (traceparent !== undefined) for (const message of messages) Object.assign(message, { traceparent });
    return runtime.log.publish(topic, messages);
  });
}

/** What the conventions of OpenTelemetry tell of messages. */
export const messagingAttributes = (
  { log }: Pick<Runtime, 'log'>,
  operation: 'send' | 'process',
  topic: string,
  messages: number,
): Attributes => ({
  'messaging.system': log.system,
  'messaging.operation.name': operation,
  'messaging.operation.type': operation,
  'messaging.destination.name': topic,
  'messaging.batch.message_count': messages,
});

/** The spans that messages carry, each once. */
export const causesOf = (messages: readonly Pick<Message, 'traceparent'>[]): Traceparent[] => [
  ...new Set(messages.flatMap(({ traceparent }) => traceparent ?? [])),
];
