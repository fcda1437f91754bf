import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { mapConcurrently } from '../../../infra/coordination/map-concurrently.ts';

describe('a map of several items at a time', () => {
  it('gives the results in the order of the items', async () => {
    const later = async (ms: number) => sleep(ms, ms);
    expect(await mapConcurrently([30, 10, 20], later, 2)).toEqual([30, 10, 20]);
  });

  it('fails when what runs has ended, and begins nothing after a failure', async () => {
    const [begun, ended]: [number[], number[]] = [[], []];
    const work = async (item: number) => {
      begun.push(item);
      await sleep(item === 1 ? 5 : 30);
      if (item === 1) throw new Error('the first');
      ended.push(item);
      if (item === 2) throw new Error('a later one');
    };
    await expect(mapConcurrently([0, 1, 2, 3, 4], work, 3)).rejects.toThrow('the first');
    expect({ begun, ended }).toEqual({ begun: [0, 1, 2], ended: [0, 2] });
  });
});
