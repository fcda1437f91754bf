import { describe, expect, test } from 'vitest';
import { Batcher } from '../../../infra/coordination/batcher.ts';
import { gate, pause } from '../ports/opened.ts';

const ONE_EACH = { max: 3, of: () => 1 };

/** A write that records its batches and waits for its gate. */
function held() {
  const batches: (readonly number[])[] = [];
  const hold = gate();
  const write = async (items: readonly number[]) => {
    batches.push(items);
    await hold.opened;
    return items.map((item) => item * 10);
  };
  return { batches, write, open: hold.open };
}

describe('a batcher', () => {
  test('writes items of one turn of the event loop together and gives each its result', async () => {
    const { batches, write, open } = held();
    const batcher = new Batcher(write);
    open();
    expect(await Promise.all([1, 2, 3].map((item) => batcher.add(item)))).toEqual([10, 20, 30]);
    expect(batches).toEqual([[1, 2, 3]]);
  });

  test('collects items while a batch is under way', async () => {
    const { batches, write, open } = held();
    const batcher = new Batcher(write);
    const first = batcher.add(1);
    await pause(5);
    const later = [batcher.add(2), batcher.add(3)];
    await pause(5);
    expect(batches).toEqual([[1]]);
    open();
    expect(await Promise.all([first, ...later])).toEqual([10, 20, 30]);
    expect(batches).toEqual([[1], [2, 3]]);
  });

  test('keeps batches within their limits, and writes an item alone that exceeds one', async () => {
    const { batches, write, open } = held();
    const batcher = new Batcher(write, { limits: [ONE_EACH, { max: 100, of: (item) => item }] });
    open();
    await Promise.all([1, 2, 3, 4, 60, 50, 500, 7].map((item) => batcher.add(item)));
    expect(batches).toEqual([[1, 2, 3], [4, 60], [50], [500], [7]]);
  });

  test('gives a failure to the callers of its batch only', async () => {
    let calls = 0;
    const batcher = new Batcher(
      async (items: readonly number[]) => {
        if (++calls === 1) throw new Error('no');
        return items;
      },
      { limits: [{ max: 1, of: () => 1 }] },
    );
    const ends = await Promise.allSettled([batcher.add(1), batcher.add(2)]);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  test('rejects all callers of a late batch and later ones until it ends', async () => {
    const { batches, write, open } = held();
    const batcher = new Batcher(write, { deadline: { ms: 20, onLate: () => new Error('late') } });
    const sent = batcher.add(1);
    await pause(5);
    const waiting = batcher.add(2);
    await expect(sent).rejects.toThrow('late');
    await expect(waiting).rejects.toThrow('late');
    await expect(batcher.add(3)).rejects.toThrow('late');
    open();
    await batcher.drain();
    expect(await batcher.add(4)).toBe(40);
    expect(batches).toEqual([[1], [4]]);
  });

  test('lingers between two batches, and no longer than its most urgent item', async () => {
    const { batches, write, open } = held();
    const batcher = new Batcher(write, { lingerMs: (item) => (item > 100 ? 1 : 60_000) });
    const added = [batcher.add(1)];
    await pause(5);
    added.push(batcher.add(2));
    open();
    await pause(20);
    expect(batches).toEqual([[1]]);
    added.push(batcher.add(3), batcher.add(101));
    await Promise.all(added);
    expect(batches).toEqual([[1], [2, 3, 101]]);
  });

  test('drains without lingering', async () => {
    const { batches, write, open } = held();
    const batcher = new Batcher(write, { lingerMs: () => 60_000 });
    open();
    const added = [batcher.add(1)];
    await added[0];
    added.push(batcher.add(2));
    await batcher.drain();
    expect(await Promise.all(added)).toEqual([10, 20]);
    expect(batches).toEqual([[1], [2]]);
    expect(batcher.isIdle).toBe(true);
  });
});
