import type { InfraSettings } from './config/settings.ts';
import type { Clock, Runtime } from './ports.ts';

/** Opens the ports of the profile that the settings name; the other profile's libraries are not even loaded. */
export async function openRuntime(
  config: InfraSettings,
  topics: readonly string[],
  clock?: Clock,
): Promise<Runtime> {
  if (config.PROFILE === 'embedded') {
    const { openEmbedded } = await import('./embedded/runtime.ts');
    return openEmbedded(config, clock);
  }
  const { openDistributed } = await import('./distributed/runtime.ts');
  return openDistributed(config, topics, clock);
}
