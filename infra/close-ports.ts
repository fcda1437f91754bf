import { closeAll } from './close-all.ts';
import type { Runtime } from './ports.ts';

/** Closes what brings work before what the work needs. */
export const closePorts = ({
  log,
  queue,
  keyValue,
  store,
}: Pick<Runtime, 'log' | 'queue' | 'keyValue' | 'store'>): Promise<void> =>
  closeAll(...[log, queue, keyValue, store].map((port) => () => [port.close()]));
