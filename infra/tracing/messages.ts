import type { Message, Runtime } from '../ports.ts';
import type { SpanAttributes, Traceparent } from './tracer.ts';

type Traced = Pick<Runtime, 'log' | 'tracer'>;

/** Publishes messages as a span, whose place in its trace they carry to their consumers. */
export function publishTraced(runtime: Traced, topic: string, messages: readonly Message[]): Promise<void> {
  const { log, tracer } = runtime;
  if (!tracer.isOn) return log.publish(topic, messages);
  const attributes = messagingAttributes(runtime, 'send', topic, messages.length);
  return tracer.span(`send ${topic}`, { kind: 'producer', attributes }, ({ traceparent }) => {
    // Messages may make their bytes when they are asked for: a copy would make them here.
    for (const message of messages) Object.assign(message, { traceparent });
    return log.publish(topic, messages);
  });
}

/** What the conventions of OpenTelemetry tell of messages. */
export const messagingAttributes = (
  { log }: Pick<Runtime, 'log'>,
  operation: 'send' | 'process',
  topic: string,
  messages: number,
): SpanAttributes => ({
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
