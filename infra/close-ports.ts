import { closeAll } from './close-all.ts';
import type { Runtime } from './ports.ts';

/** Closes the sources of work first, then the ports that the work uses. */
export const closePorts = ({
  log,
  queue,
  keyValue,
  store,
}: Pick<Runtime, 'log' | 'queue' | 'keyValue' | 'store'>): Promise<void> =>
  closeAll(...[log, queue, keyValue, store].map((port) => () => [port.close()]));
