import { describe, expect, it } from 'vitest';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';
import { ProductError } from '../../../infra/errors.ts';
import { openLimiters } from '../../../serve/http/limiter.ts';

let now = 10_000;
const clock = { now: () => now };
const limit = { name: 'minute', max: 2, seconds: 60 };

/** The counts of all servers, which may be away. */
class SharedCounts extends EmbeddedKeyValue {
  isAway = false;
  override async increment(...given: Parameters<EmbeddedKeyValue['increment']>): Promise<number> {
    if (this.isAway) throw new ProductError('service_unreachable', 'Redis does not answer');
    return super.increment(...given);
  }
}

describe('a limiter', () => {
  it('counts in windows that begin at multiples of their length, by caller and limit', async () => {
    const keyValue = new EmbeddedKeyValue(clock);
    const limiters = openLimiters({ keyValue, clock }, { LIMITS_WITHOUT_REDIS: 'local' });
    const limiter = limiters(limit);
    expect(await limiter.usage('a')).toMatchObject({ used: 0, remaining: 2, reset: 50 });
    expect(await limiter.count('a')).toMatchObject({ used: 1, remaining: 1, reset: 50, isExceeded: false });
    expect(await limiter.count('a', 2)).toMatchObject({ used: 3, remaining: 0, isExceeded: true });
    expect(await limiter.usage('a')).toMatchObject({ used: 3, remaining: 0, isExceeded: true });
    expect(await limiter.count('b')).toMatchObject({ used: 1 });
    expect(await limiters({ ...limit, name: 'day' }).usage('a')).toMatchObject({ used: 0 });
    expect(await limiters(limit).usage('a')).toMatchObject({ used: 3 });
    now += 50_000;
    expect(await limiter.usage('a')).toMatchObject({ used: 0, reset: 60 });
  });
});

describe('while Redis does not answer', () => {
  it('`local` counts by itself, and goes on with the shared counts afterwards', async () => {
    const shared = new SharedCounts(clock);
    const limiter = openLimiters({ keyValue: shared, clock }, { LIMITS_WITHOUT_REDIS: 'local' })(limit);
    const count = async () => (await limiter.count('a')).used;
    expect([await count(), await count(), await count()]).toEqual([1, 2, 3]);
    shared.isAway = true;
    expect([await count(), await count()]).toEqual([1, 2]);
    shared.isAway = false;
    expect(await count()).toBe(4);
  });

  it('`refuse` lets nobody pass', async () => {
    const shared = new SharedCounts(clock);
    shared.isAway = true;
    const limiter = openLimiters({ keyValue: shared, clock }, { LIMITS_WITHOUT_REDIS: 'refuse' })(limit);
    await expect(limiter.count('a')).rejects.toMatchObject({ code: 'service_unreachable' });
  });
});
