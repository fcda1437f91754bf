import { describe, expect, it } from 'vitest';
import { deliverUnderKills } from '../serve/alerts/kills.ts';
import { canCutPower } from '../support/power-cut.ts';
import { killOften } from './kills.ts';

/** One shows that the way is open; `test/soak/power-cuts.ts` cuts often enough to find what is not forced. */
const CUTS = 1;

// Only root may mount the disk whose power is cut, and a container mostly lacks the right: that is said aloud there.
describe.skipIf(!canCutPower())('with STORE_FSYNC, after a power cut', { timeout: 600_000 }, () => {
  it('no acknowledged block is lost, and the rows are the same', async () => {
    const { kills, faults } = await killOften({ kills: CUTS, seed: 1, powerCutsOn: 'ext4' });
    expect(faults).toEqual([]);
    expect(kills).toBe(CUTS);
  });

  it('no accepted alert is lost or counted twice', async () => {
    const options = { deliveries: 200, kills: CUTS, senders: 16, seed: 1, powerCutsOn: 'ext4' };
    const { kills, acknowledged, faults } = await deliverUnderKills(options);
    expect(faults).toEqual([]);
    expect(kills).toBeGreaterThan(CUTS);
    expect(acknowledged).toBeGreaterThanOrEqual(options.deliveries);
  });
});
