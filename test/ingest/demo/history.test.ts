import { expect, it } from 'vitest';
import { DAY_MS } from '../../../infra/days.ts';
import { readRegistry } from '../../../ingest/chains/registry.ts';
import { parseSnapshot } from '../../../ingest/decode/snapshot.ts';
import { DEMO_CHAINS } from '../../../ingest/demo/chains.ts';
import { DemoHistory, firstDemoDay } from '../../../ingest/demo/history.ts';
import { DayStream } from '../../../ingest/demo/stream.ts';
import { readLine } from '../../../ingest/log/envelope.ts';
import { readLines, type SourceLine } from '../../../ingest/sources/lines.ts';
import { countTurns } from '../../support/turns.ts';

const registry = readRegistry({ CHAINS_FILE: undefined });
const NOON = Date.parse('2026-03-10T12:00:00Z');

interface Asked {
  readonly firstDay?: string;
  readonly from?: string;
  readonly seed?: number;
}

function linesOf(now: number, { firstDay = '2026-03-01', from = firstDay, seed = 7 }: Asked = {}): string[] {
  return [...new DemoHistory({ firstDay, now, registry, seed }).days(from)].flat();
}

interface Made {
  readonly chain: string;
  readonly number: number;
  readonly time: number;
  readonly parentHash: string;
  readonly hash: string;
}

function blocksOf(lines: readonly string[], chain: string): Made[] {
  return lines
    .map((line) => JSON.parse(line))
    .filter((document) => document.schema === 'block/1' && document.chain === chain)
    .map(({ payload: { number, hash, parentHash, extrinsics } }) => ({
      ...{ chain, hash, parentHash, number: Number(number), time: Number(extrinsics[0].args.now) },
    }));
}

it('makes the same lines of the same first day and seed, and others of another seed', () => {
  expect(linesOf(NOON)).toEqual(linesOf(NOON));
  expect(linesOf(NOON, { seed: 8 })).not.toEqual(linesOf(NOON));
});

it('continues a history without changing the days that have ended', () => {
  const later = linesOf(NOON + 3 * DAY_MS);
  const ended = linesOf(NOON, { from: '2026-03-01' }).filter((line) => !line.includes('2026-03-10'));
  const endOf = (lines: readonly string[], chain: string) =>
    blocksOf(lines, chain).filter(({ time }) => time < Date.parse('2026-03-10'));
  for (const { name } of DEMO_CHAINS) expect(endOf(later, name)).toEqual(endOf(ended, name));
  const continued = linesOf(NOON + 3 * DAY_MS, { from: '2026-03-10' });
  expect(later.slice(-continued.length)).toEqual(continued);
  // The heights of the day that ran are there again, so that its blocks are replaced.
  const running = blocksOf(linesOf(NOON, { from: '2026-03-10' }), 'polkadot').map(({ number }) => number);
  expect(running.length).toBeGreaterThan(0);
  const now = new Set(blocksOf(continued, 'polkadot').map(({ number }) => number));
  expect(running.filter((number) => !now.has(number))).toEqual([]);
});

it('writes lines that are read without a refusal, and nothing of a later time', () => {
  const origin = { source: 'import', origin: 'demo', line: 1 };
  const refused = linesOf(NOON).filter(
    (line) => 'refused' in readLine(Buffer.from(line), undefined, registry, origin),
  );
  expect(refused).toEqual([]);
  const documents = linesOf(NOON).map((line) => JSON.parse(line));
  const snapshots = documents.filter(({ schema }) => schema === 'snapshot/1');
  expect(snapshots.map(parseSnapshot).filter(({ ok }) => !ok)).toEqual([]);
  expect(snapshots.filter(({ as_of }) => Date.parse(as_of) > NOON)).toEqual([]);
  for (const { name } of DEMO_CHAINS) {
    for (const { time } of blocksOf(linesOf(NOON), name)) expect(time).toBeLessThanOrEqual(NOON);
  }
});

it('has consecutive heights but on the days that it leaves out, and a chain that stood still goes on', () => {
  const now = Date.parse('2026-08-27T10:00:00Z');
  const lines = linesOf(now, { firstDay: firstDemoDay(now), from: '2026-08-01' });
  for (const { name, blocks } of DEMO_CHAINS) {
    const made = blocksOf(lines, name);
    const holes = made.flatMap(({ number }, i) =>
      i > 0 && number !== (made[i - 1] as Made).number + 1 ? [number - (made[i - 1] as Made).number - 1] : [],
    );
    // Days 165, of polkadot, and 171, of hydration, of 180.
    expect(holes, name).toEqual(name === 'polkadot' || name === 'hydration' ? [blocks] : []);
  }
  const made = blocksOf(lines, 'asset-hub-kusama');
  const proven = made.filter((block, i) => {
    const before = made[i - 1];
    return before !== undefined && block.parentHash === before.hash && block.time - before.time > DAY_MS;
  });
  expect(proven).toHaveLength(1);
});

it('begins with a day that has hardly begun', () => {
  const midnight = Date.parse('2026-03-10T00:00:20Z');
  const made = blocksOf(linesOf(midnight, { from: '2026-03-10' }), 'polkadot');
  expect(made.length).toBeGreaterThan(0);
  expect(made.every(({ time }) => time >= midnight - 20_000 && time <= midnight)).toBe(true);
});

it('streams whole lines, and ends between two days when it is told to stop', async () => {
  const lines = Array.from({ length: 40_000 }, (_, i) => `line ${i}`);
  const days = Array.from({ length: 20 }, (_, day) => lines.slice(day * 2000, (day + 1) * 2000));
  const read = async (signal: AbortSignal, after: () => void) => {
    let text = '';
    for await (const piece of new DayStream(days, signal)) {
      text += piece;
      after();
    }
    return text;
  };
  expect(await read(new AbortController().signal, () => undefined)).toBe(`${lines.join('\n')}\n`);
  const stop = new AbortController();
  const part = await read(stop.signal, () => stop.abort());
  expect(part.length).toBeLessThan(lines.join('\n').length);
  expect(lines.slice(0, part.split('\n').length - 1).join('\n')).toBe(part.trimEnd());
});

it('lets the event loop turn between two days, also those that are left out', async () => {
  using counted = countTurns();
  const days = [
    ...Array.from({ length: 50 }, () => []),
    ...Array.from({ length: 50 }, (_, i) => [`line ${i}`]),
  ];
  const read: SourceLine[] = [];
  for await (const line of readLines(new DayStream(days, new AbortController().signal), 100)) read.push(line);
  expect(read).toHaveLength(50);
  expect(counted.turns).toBeGreaterThanOrEqual(100);
});
