import { systemClock } from '../clock.ts';
import type { Clock, Runtime, TopicDefinition } from '../ports.ts';
import type { InfraSettings } from './settings.ts';

/** The ports of the profile in the settings, to be connected. The libraries of the other profile are not loaded. */
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
