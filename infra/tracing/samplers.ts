import { TraceFlags } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { TracingSettings } from './settings.ts';

type SamplerSettings = Pick<TracingSettings, 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'>;

/** The sampler of the settings. */
export function samplerOf({
  OTEL_TRACES_SAMPLER: name,
  OTEL_TRACES_SAMPLER_ARG: ratio,
}: SamplerSettings): Sampler {
  const root = rootOf(name.replace(/^parentbased_/, ''), ratio);
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root: orLinked(root) }) : root;
}

function rootOf(name: string, ratio: number): Sampler {
  if (name === 'always_on') return new AlwaysOnSampler();
  return name === 'always_off' ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
}

/** Work for several traces has one of its own: it is recorded with any of them, or their way would end here. */
const orLinked = (root: Sampler): Sampler => ({
  shouldSample: (context, traceId, name, kind, attributes, links) =>
    links.some(({ context: of }) => (of.traceFlags & TraceFlags.SAMPLED) !== 0)
      ? { decision: SamplingDecision.RECORD_AND_SAMPLED }
      : root.shouldSample(context, traceId, name, kind, attributes, links),
  toString: () => `${root}, or as linked`,
});

/** Whether some traces are left out, which callers could then have recorded. */
export const leavesOut = ({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: SamplerSettings) =>
  !name.endsWith('always_on') && !(name.endsWith('traceidratio') && ratio === 1);
