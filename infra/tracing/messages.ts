import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { Message, Runtime, Traceparent } from '../ports.ts';
import { activeTraceparent, inSpan } from './spans.ts';

/** Publishes messages in a producer span, and passes its trace context to their consumers. */
export function publishTraced(
  runtime: Pick<Runtime, 'log'>,
  topic: string,
  messages: readonly Message[],
): Promise<void> {
  const attributes = messagingAttributes(runtime, 'send', topic, messages.length);
  return inSpan(`send ${topic}`, { kind: SpanKind.PRODUCER, attributes }, () => {
    const traceparent = activeTraceparent();
    // Sets the field of the messages themselves, since a copy would build lazy values.
    if (traceparent !== undefined) for (const message of messages) Object.assign(message, { traceparent });
    return runtime.log.publish(topic, messages);
  });
}

/** Attributes of the OpenTelemetry conventions for messaging. */
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

/** The distinct trace contexts of messages. */
export const causesOf = (messages: readonly Pick<Message, 'traceparent'>[]): Traceparent[] => [
  ...new Set(messages.flatMap(({ traceparent }) => traceparent ?? [])),
];
