import { describe, expect, test } from 'vitest';
import { Service, type Source } from './service.ts';

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

  test('a burst of small deliveries takes no more room once they are decided on', async () => {
    const small = await Service.open({ ALERT_PENDING_BYTES_MAX: '65536' });
    const { store } = small.pipeline.runtime;
    const { insertLines } = store;
    const held = Promise.withResolvers<void>();
    try {
      const bob = await small.person('bob');
      const flooding = await small.source(bob, await small.project(bob));
      const quiet = await small.source(bob, await small.project(bob));
      for (const own of [flooding, quiet]) await small.send(own, { title: 'first' });
      await (await small.pipeline.alerts()).waitUntilWritten();
      store.insertLines = async (...given) => {
        await held.promise;
        return insertLines.apply(store, given);
      };
      const sent = await Promise.all(
        Array.from({ length: 200 }, (_, i) => small.send(flooding, { title: `load ${i}` })),
      );
      expect([...new Set(sent.map(({ status }) => status))].sort()).toEqual([200, 503]);
      expect((await small.send(quiet, { title: 'second' })).status).toBe(200);
    } finally {
      held.resolve();
      await small.close();
    }
  });

  test('a project that floods leaves room for the others', async () => {
    const small = await Service.open({ ALERT_PENDING_BYTES_MAX: '1000000' });
    const { store } = small.pipeline.runtime;
    const { insertLines } = store;
    const held = Promise.withResolvers<void>();
    try {
      const bob = await small.person('bob');
      const [flooding, quiet, third] = [
        await small.source(bob, await small.project(bob)),
        await small.source(bob, await small.project(bob)),
        await small.source(bob, await small.project(bob)),
      ];
      const body = (i: number) => ({ title: `load ${i}`, filler: 'x'.repeat(20_000) });
      // Their states are read before nothing is written any more.
      for (const own of [flooding, quiet, third]) await small.send(own, body(0));
      await small.api(bob, 'GET', `/projects/${third.project}/alerts`);
      store.insertLines = async (...given) => {
        await held.promise;
        return insertLines.apply(store, given);
      };
      const taken = async (own: typeof quiet) => {
        for (let i = 1; i <= 100; i++) {
          const { status } = await small.send(own, body(i));
          if (status === 503) return i;
          expect(status).toBe(200);
        }
        throw new Error('nothing was refused');
      };
      // Four fifths of the room, and four ninths of it once two flood.
      const first = await taken(flooding);
      expect(first).toBeGreaterThan(10);
      const second = await taken(third);
      expect(second).toBeGreaterThan(2);
      expect(second).toBeLessThan(first);
      expect((await small.send(quiet, body(1))).status).toBe(200);
      held.resolve();
      store.insertLines = insertLines;
      for (const [own, count] of [
        [flooding, first],
        [third, second],
        [quiet, 2],
      ] as const) {
        await (await small.pipeline.alerts()).waitUntilWritten();
        const { headers } = await small.api(bob, 'GET', `/projects/${own.project}/alerts`);
        expect(headers['x-total']).toBe(String(count));
      }
      expect((await small.send(flooding, { title: 'later' })).status).toBe(200);
    } finally {
      held.resolve();
      await small.close();
    }
  });

  test('a sender of PagerDuty events that floods gets 503, and those of other projects do not', async () => {
    const small = await Service.open({ ALERT_PENDING_BYTES_MAX: '1000000' });
    try {
      const bob = await small.person('bob');
      const made = async () => small.source(bob, await small.project(bob), { type: 'PAGERDUTY' });
      const [flooding, quiet] = [await made(), await made()];
      const post = ({ key }: Source, details: string) => {
        const payload = { summary: 'a', source: 'b', severity: 'info', custom_details: { details } };
        const event = { routing_key: key, event_action: 'trigger', payload };
        return small.send({ path: '/v2/enqueue', key: '' }, event, { authorization: '' });
      };
      const sent = await Promise.all(
        Array.from({ length: 120 }, (_, i) =>
          i === 100 ? post(quiet, '') : post(flooding, 'x'.repeat(20_000)),
        ),
      );
      expect(sent[100]?.status).toBe(202);
      expect([...new Set(sent.map(({ status }) => status))].sort()).toEqual([202, 503]);
      const refused = sent.find(({ status }) => status === 503);
      expect(refused).toMatchObject({ body: { status: 'unavailable' }, headers: { 'retry-after': '5' } });
    } finally {
      await small.close();
    }
  });
});
