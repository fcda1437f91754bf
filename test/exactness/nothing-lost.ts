import { expect, it } from 'vitest';
import { killOften } from './kills.ts';

/** A test that processes which are killed while they load lose nothing and end in the rows of one that is not. */
export function expectNothingLost(order: { readonly kills: number; readonly seed: number }): void {
  it(`loses nothing that was acknowledged and ends in the same rows, kills: ${order.kills}`, {
    timeout: 600_000,
  }, async () => {
    const { kills, stores, faults } = await killOften(order);
    expect(faults).toEqual([]);
    expect(kills).toBe(order.kills);
    expect(stores).toBeGreaterThan(0);
  });
}
