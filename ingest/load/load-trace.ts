import type { Runtime } from '../../infra/ports.ts';
import { messagingAttributes } from '../../infra/tracing/messages.ts';
import type { SpanAttributes } from '../../infra/tracing/tracer.ts';
import { type Stream, TOPICS } from '../log/topics.ts';
import type { PreparedBatch, ReadMessage } from './prepare-batch.ts';

/** Loads a batch as a span that follows from what published its messages. */
export function loadTraced(
  runtime: Pick<Runtime, 'tracer' | 'log'>,
  stream: Stream,
  { causes, lines, messages }: PreparedBatch,
  load: () => Promise<void>,
): Promise<void> {
  const { tracer } = runtime;
  if (!tracer.isOn) return load();
  const topic = TOPICS[stream];
  const attributes = {
    ...messagingAttributes(runtime, 'process', topic, messages),
    ...blockAttributes(stream, lines),
  };
  return tracer.span(`process ${topic}`, { kind: 'consumer', causes, attributes }, load);
}

/** By which the trace of a block is found, where the blocks are of one chain. */
function blockAttributes(stream: Stream, lines: readonly ReadMessage[]): SpanAttributes {
  const [chain, ...others] = new Set(lines.map(({ head }) => head.chain));
  if (chain === undefined || others.length > 0) return {};
  if (stream !== 'blocks') return { 'chain_metrics.chain': chain };
  const numbers = lines.map(({ head }) => Number(head.number));
  return {
    'chain_metrics.chain': chain,
    'chain_metrics.block.lowest': numbers.reduce((a, b) => Math.min(a, b)),
    'chain_metrics.block.highest': numbers.reduce((a, b) => Math.max(a, b)),
  };
}
