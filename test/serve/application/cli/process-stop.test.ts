import { expect, it, onTestFinished } from 'vitest';
import { ProcessStop } from '../../../../serve/application/cli/process-stop.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

function newStop(): ProcessStop {
  const before = SIGNALS.map((signal) => new Set(process.listeners(signal)));
  onTestFinished(() => {
    SIGNALS.forEach((signal, i) => {
      for (const listener of process.listeners(signal)) {
        if (!before[i]?.has(listener)) process.off(signal, listener);
      }
    });
  });
  return new ProcessStop({ STOP_SECONDS_MAX: 60, STOP_DELAY_SECONDS: 0 }, false);
}

it('closes all that was opened, in reverse, also behind something that does not close', async () => {
  const closed: string[] = [];
  const stop = newStop();
  stop.addFirst(async () => void closed.push('pipeline'));
  stop.addLast(async () => void closed.push('probes'));
  stop.addFirst(async () => {
    closed.push('server');
    throw new Error('the store is away');
  });
  stop.addFirst(async () => void closed.push('socket'));
  stop.request('SIGTERM');
  await expect(stop.ended).rejects.toThrow('the store is away');
  expect(closed).toEqual(['socket', 'server', 'pipeline', 'probes']);
});
