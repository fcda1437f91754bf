import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Clock } from '../../../infra/ports.ts';
import { type Opened, pause } from './opened.ts';

export function clockContract(name: string, open: () => Promise<Opened<Clock>>): void {
  describe(`clock: ${name}`, () => {
    let opened: Opened<Clock>;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());

    test('returns whole milliseconds since the epoch', () => {
      const now = opened.port.now();
      expect(Number.isSafeInteger(now)).toBe(true);
      expect(Math.abs(now - Date.now())).toBeLessThan(5000);
    });

    test('advances', async () => {
      const before = opened.port.now();
      await pause(20);
      expect(opened.port.now()).toBeGreaterThanOrEqual(before + 10);
    });
  });
}
