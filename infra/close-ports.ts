import type { Runtime } from './ports.ts';

/** Closes what brings work before what the work needs, all of it; throws the first failure then. */
export async function closePorts({
  log,
  queue,
  keyValue,
  store,
}: Pick<Runtime, 'log' | 'queue' | 'keyValue' | 'store'>): Promise<void> {
  const failures: unknown[] = [];
  for (const port of [log, queue, keyValue, store]) {
    await port.close().catch((error) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}
