import { describe, expect, test } from 'vitest';
import { Service } from './service.ts';

describe('overload', () => {
  test('is 503 with Retry-After, never 429 or a redirect', async () => {
    const small = await Service.open({ ALERT_PENDING_BYTES_MAX: '65536' });
    try {
      const bob = await small.person('bob');
      const own = await small.source(bob, await small.project(bob));
      const body = (i: number) => ({ title: `load ${i}`, filler: 'x'.repeat(20_000) });
      const sent = await Promise.all(Array.from({ length: 60 }, (_, i) => small.send(own, body(i))));
      const statuses = new Set(sent.map(({ status }) => status));
      expect([...statuses].sort()).toEqual([200, 503]);
      for (const { headers } of sent.filter(({ status }) => status === 503))
        expect(headers['retry-after']).toBe('5');
      const counted = () => small.api(bob, 'GET', `/projects/${own.project}/alerts`);
      await counted();
      expect((await small.send(own, { title: 'later' })).status).toBe(200);
      const taken = sent.filter(({ status }) => status === 200).length + 1;
      expect((await counted()).headers['x-total']).toBe(String(taken));
    } finally {
      await small.close();
    }
  });
});
