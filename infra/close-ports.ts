import type { Runtime } from './ports.ts';

/** Closes what brings work before what the work needs. */
export async function closePorts({
  log,
  queue,
  keyValue,
  store,
}: Pick<Runtime, 'log' | 'queue' | 'keyValue' | 'store'>): Promise<void> {
  await log.close();
  await queue.close();
  await keyValue.close();
  await store.close();
}
