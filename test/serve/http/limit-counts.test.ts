import { describe, expect, it } from 'vitest';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';
import { ProductError } from '../../../infra/errors.ts';
import { limitCounts } from '../../../serve/http/limit-counts.ts';

const clock = { now: () => 0 };

/** The counts of all servers, which may be away. */
class SharedCounts extends EmbeddedKeyValue {
  isAway = false;
  override async increment(...given: Parameters<EmbeddedKeyValue['increment']>): Promise<number> {
    if (this.isAway) throw new ProductError('service_unreachable', 'Redis does not answer');
    return super.increment(...given);
  }
}

describe('while Redis does not answer', () => {
  it('`local` counts by itself, and goes on with the shared counts afterwards', async () => {
    const shared = new SharedCounts(clock);
    const counts = limitCounts({ keyValue: shared, clock }, { LIMITS_WITHOUT_REDIS: 'local' });
    const count = () => counts.increment('rate', 1, 1000);
    expect([await count(), await count(), await count()]).toEqual([1, 2, 3]);
    shared.isAway = true;
    expect([await count(), await count()]).toEqual([1, 2]);
    shared.isAway = false;
    expect(await count()).toBe(4);
  });

  it('`refuse` lets nobody pass', async () => {
    const shared = new SharedCounts(clock);
    shared.isAway = true;
    const counts = limitCounts({ keyValue: shared, clock }, { LIMITS_WITHOUT_REDIS: 'refuse' });
    await expect(counts.increment('rate', 1, 1000)).rejects.toMatchObject({ code: 'service_unreachable' });
  });
});
