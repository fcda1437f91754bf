import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { FairShare, type ShareMember } from '../../../ingest/backfill/fair-share.ts';

/** A chain whose requests end when the test says so. */
function chainOf(member: ShareMember, bytes = 1) {
  const open: (() => void)[] = [];
  return {
    member,
    ask: (times: number) => {
      for (let i = 0; i < times; i++)
        void member.ask(async () => {
          await new Promise<void>((end) => {
            open.push(end);
          });
          return Buffer.alloc(bytes);
        });
    },
    answer: async (times: number) => {
      for (const end of open.splice(0, times)) end();
      await setImmediate();
    },
    open: () => open.length,
  };
}

it('gives each chain as many requests as the others, and all of them when it is alone', async () => {
  const share = new FairShare({ requestsMax: 6, bytesMax: 1e9 });
  const [slow, quick] = [chainOf(share.join()), chainOf(share.join())];
  slow.ask(20);
  quick.ask(20);
  expect([slow.open(), quick.open()]).toEqual([3, 3]);
  // A source that never answers keeps only its own part.
  await quick.answer(3);
  await quick.answer(3);
  expect([slow.open(), quick.open()]).toEqual([3, 3]);
  slow.member.leave();
  await quick.answer(1);
  expect(quick.open()).toBe(3);
  await slow.answer(3);
  expect(quick.open()).toBe(6);
});

it('never has more requests under way than all chains may have, even when there are more chains', async () => {
  const share = new FairShare({ requestsMax: 2, bytesMax: 1e9 });
  const chains = Array.from({ length: 5 }, () => chainOf(share.join()));
  for (const chain of chains) chain.ask(2);
  const open = () => chains.map((chain) => chain.open());
  expect(open()).toEqual([1, 1, 0, 0, 0]);
  await chains[0]?.answer(1);
  expect(open().reduce((sum, one) => sum + one)).toBe(2);
});

it('holds no more answers than may wait, but always lets a chain ask that holds none', async () => {
  const share = new FairShare({ requestsMax: 8, bytesMax: 100 });
  const [large, other] = [chainOf(share.join(), 200), chainOf(share.join(), 1)];
  large.ask(1);
  await large.answer(1);
  large.ask(2);
  other.ask(2);
  expect([large.open(), other.open()]).toEqual([0, 1]);
  large.member.release(200);
  await setImmediate();
  expect([large.open(), other.open()]).toEqual([2, 2]);
});

it('gives the place of a request that failed to the next', async () => {
  const share = new FairShare({ requestsMax: 1, bytesMax: 100 });
  const member = share.join();
  const failing = member.ask(() => Promise.reject(new Error('away')));
  const next = member.ask(async () => 'block');
  await expect(failing).rejects.toThrow('away');
  expect(await next).toBe('block');
});
