import { systemClock } from '../clock.ts';
import type { Clock, Runtime, TopicDefinition } from '../ports.ts';
import type { InfraSettings } from './settings.ts';

/** Opens the ports of the profile; the caller connects them. Does not load the libraries of the other profile. */
export async function openRuntime(
  config: InfraSettings,
  topics: readonly TopicDefinition[],
  clock: Clock = systemClock,
): Promise<Runtime> {
  if (config.PROFILE === 'embedded') {
    const { openEmbedded } = await import('../embedded/runtime.ts');
    return openEmbedded(config, topics, clock);
  }
  const { openDistributed } = await import('../distributed/runtime.ts');
  return openDistributed(config, topics, clock);
}
