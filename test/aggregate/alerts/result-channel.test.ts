import { expect, it } from 'vitest';
import type { EventHead } from '../../../aggregate/alerts/model/event.ts';
import { ResultChannel } from '../../../aggregate/alerts/processor/result-channel.ts';
import type { KeyValue, Store } from '../../../infra/ports.ts';

const RESULT = { outcomes: ['created'], created: [{ iid: 7, title: 'Disk is full' }] };

it('a result counts that Redis gives late, since it gives it once', async () => {
  let asked = 0;
  const keyValue = {
    take: () =>
      asked++ === 0
        ? new Promise((resolve) => setTimeout(() => resolve(JSON.stringify(RESULT)), 1500))
        : Promise.resolve(null),
  } as unknown as KeyValue;
  const store = { rows: async () => [] } as unknown as Store;
  const channel = new ResultChannel({ keyValue, store, waitSecondsMax: 3, onFailure: () => undefined });
  const head = { id: 'one', kind: 'delivery', project: 1, idempotency_key: '' } as EventHead;
  const event = { head, delivery: null, encoded: Buffer.from('one') };
  expect(await channel.request(event, async () => undefined)).toEqual(RESULT);
});
