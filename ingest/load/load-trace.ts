import type { Span } from '@opentelemetry/api';
import type { ReadMessage } from './prepare-batch.ts';

/** Adds chain and heights to a span, so that users can find the trace of a block. */
export function describeLoad(span: Span, lines: readonly ReadMessage[]): void {
  if (!span.isRecording()) return;
  const [chain, ...others] = new Set(lines.map(({ head }) => head.chain));
  if (chain === undefined || others.length > 0) return;
  span.setAttribute('chain_metrics.chain', chain);
  const heights = lines.flatMap(({ head }) => (head.number === undefined ? [] : Number(head.number)));
  if (heights.length === 0) return;
  span.setAttribute(
    'chain_metrics.block.lowest',
    heights.reduce((a, b) => Math.min(a, b)),
  );
  span.setAttribute(
    'chain_metrics.block.highest',
    heights.reduce((a, b) => Math.max(a, b)),
  );
}
