import { expect, it } from 'vitest';
import { uptimeHour } from '../../aggregate/metrics/activity/uptime-hour.ts';
import { join, raw, sql } from '../../infra/sql.ts';
import { Random } from '../../ingest/demo/random.ts';
import { within } from '../../ingest/raw/canonical.ts';
import { blockSequenceSql } from '../../ingest/raw/ordering.ts';
import { blocks, dirtyDays, dirtyHours, events, extrinsics } from '../../ingest/raw/tables.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import type { InputLine } from '../reference/input.ts';
import { shapeBlock } from '../reference/shaped.ts';
import { type Content, contentOf, differences } from '../support/content.ts';
import { ingestLines, openTestPipeline } from '../support/pipeline.ts';
import { recordedLines } from '../support/recordings.ts';
import { enveloped } from './deliveries.ts';

const FIRST = Date.UTC(2026, 2, 4, 20);
const HOUR_MS = 3_600_000;
const YEARS_MS = 3 * 365 * 24 * HOUR_MS;
/** Blocks of a night: hours of two days. */
const HOURS = 9;
const BLOCKS = 24;

const movedTo = (input: InputLine, time: number): InputLine => ({
  ...input,
  line: input.line.replace(/"now":\s*"?\d{13}"?/, `"now":"${time}"`),
});

/** Recorded blocks of all chains as if they had been made in one night, the same height at the same time. */
function nightOf(random: Random): InputLine[] {
  const recorded = [...recordedLines('blocks'), ...recordedLines('runtime')].filter(({ line }) =>
    /"now":\s*"?\d{13}"?/.test(line),
  );
  const night = recorded.filter(() => random.chance((1.3 * BLOCKS) / recorded.length));
  return night.map((line, index) =>
    movedTo(line, FIRST + Math.floor((index * HOURS * HOUR_MS) / night.length)),
  );
}

async function loadAndCompute(pipeline: Pipeline, lines: readonly InputLine[]): Promise<void> {
  await pipeline.aggregator.pauseComputation(() => ingestLines(pipeline, enveloped(lines)));
  await pipeline.aggregator.waitUntilComputed();
}

/** A block of a chain, whose parent is the one of the height before. */
const blockAt = (number: number, time: number, chain = 'kusama'): InputLine => ({
  line: JSON.stringify(shapeBlock({ number, time: new Date(time).toISOString() })),
  chain,
});

/** Late parents, each after its child in time or days before it. */
const MISDATED: readonly { readonly parent: number; readonly child: number }[] = [
  { parent: 2 * HOUR_MS, child: 0 },
  { parent: 30 * HOUR_MS, child: HOUR_MS },
  { parent: 3 * HOUR_MS, child: 54 * HOUR_MS },
];

async function contentAtOnce(lines: readonly InputLine[]): Promise<Content> {
  await using opened = await openTestPipeline();
  const { pipeline } = opened;
  await pipeline.aggregator.pauseComputation(() => ingestLines(pipeline, enveloped(lines)));
  await pipeline.aggregator.waitUntilComputed();
  return await contentOf(pipeline);
}

it('hours that are opened again end in the rows of one load', { timeout: 600_000 }, async () => {
  const random = new Random(7);
  const night = nightOf(random);
  const expected = await contentAtOnce(night);
  await using opened = await openTestPipeline();
  const { pipeline } = opened;
  const load = (lines: readonly InputLine[]) => loadAndCompute(pipeline, lines);
  // In their order but for some that are late; some first stand in another hour, on another day, or years before.
  const late = night.filter(() => random.chance(0.2));
  const inTime = night.filter((line) => !late.includes(line));
  const elsewhere = inTime.filter(() => random.chance(0.1));
  const hour = () => FIRST + random.whole(0, HOURS - 1) * HOUR_MS;
  const half = inTime.length >> 1;
  const places = [hour, hour, () => hour() + 5 * 24 * HOUR_MS, () => hour() - YEARS_MS];
  await load(inTime.slice(0, half));
  await load(
    elsewhere.map((line, index) => movedTo(line, (places[index % places.length] as () => number)())),
  );
  for (let from = half; from < inTime.length; from += 10) await load(inTime.slice(from, from + 12));
  await load(elsewhere);
  for (let from = 0; from < late.length; from += 9) await load(late.slice(from, from + 9));
  expect(differences(await contentOf(pipeline), expected)).toEqual([]);
});

it('a gap between two blocks is that of one load, whatever hours and days are between them', async () => {
  const last = FIRST + 60 * HOUR_MS;
  // Minutes, an hour, a night and two days apart; the fifth is late, and stands first on another day.
  const times = [FIRST, FIRST + 60_000, FIRST + HOUR_MS, FIRST + 9 * HOUR_MS, last - HOUR_MS, last];
  const lines = times.map((time, index) => blockAt(index + 100, time));
  const children = MISDATED.map(({ child }, index) => blockAt(10 * index + 1, FIRST + child, 'statemine'));
  const parents = MISDATED.map(({ parent }, index) => blockAt(10 * index, FIRST + parent, 'statemine'));
  const expected = await contentAtOnce([...lines, ...children, ...parents]);
  await using opened = await openTestPipeline();
  const { pipeline } = opened;
  for (const line of [0, 1, 2, 3, 5, 4].flatMap((index) => lines[index] ?? [])) {
    if (line === lines[4]) await loadAndCompute(pipeline, [blockAt(104, FIRST + 3 * HOUR_MS)]);
    await loadAndCompute(pipeline, [line]);
  }
  await loadAndCompute(pipeline, children);
  for (const parent of parents) await loadAndCompute(pipeline, [parent]);
  expect(differences(await contentOf(pipeline), expected)).toEqual([]);
});

it('whether a day is proven empty is told by the days around it, whatever comes first', async () => {
  const at = (number: number, day: number) => blockAt(number, FIRST + day * 24 * HOUR_MS);
  const [parent, child, between, before] = [at(100, 0), at(101, 9), at(200, 5), at(50, 2)];
  const early = blockAt(201, FIRST + 29 * HOUR_MS);
  for (const order of [
    [child, between, before, parent],
    [parent, child, between, before],
    [parent, child, early, between],
  ]) {
    const expected = await contentAtOnce(order);
    await using opened = await openTestPipeline();
    for (const line of order) await loadAndCompute(opened.pipeline, [line]);
    expect(differences(await contentOf(opened.pipeline), expected)).toEqual([]);
  }
});

it('a day that was proven empty and gains a late block is as if it had never been empty', async () => {
  const before = [blockAt(99, FIRST - HOUR_MS), blockAt(100, FIRST), blockAt(101, FIRST + 50 * HOUR_MS)];
  // A block of another height, and the one behind the empty day itself, which a reorganisation moves.
  for (const number of [200, 101]) {
    const late = blockAt(number, FIRST + 27 * HOUR_MS);
    const expected = await contentAtOnce([...before, late]);
    await using opened = await openTestPipeline();
    await loadAndCompute(opened.pipeline, before);
    await loadAndCompute(opened.pipeline, [late]);
    expect(differences(await contentOf(opened.pipeline), expected)).toEqual([]);
  }
});

it('a parent is found in whatever month it is dated', async () => {
  const months = [0, 35, 70, 1].map((days) => FIRST + days * 24 * HOUR_MS);
  const [child, between, parent, next] = months as [number, number, number, number];
  const lines = [blockAt(101, child), blockAt(90, between), blockAt(100, parent), blockAt(95, next)];
  await using opened = await openTestPipeline();
  await loadAndCompute(opened.pipeline, lines);
  const window = { relays: ['kusama'], from: '2026-03-04', until: '2026-03-05' };
  const { store } = opened.pipeline.runtime;
  const rows = await store.rows(uptimeHour.select(window));
  expect(rows).toEqual([expect.objectContaining({ evaluated: 1, max_gap_seconds: (child - parent) / 1000 })]);
  // Also that of the first block after a window without any.
  await loadAndCompute(opened.pipeline, [
    blockAt(102, between + 24 * HOUR_MS),
    blockAt(101, parent + HOUR_MS),
  ]);
  const empty = { relays: ['kusama'], from: '2026-05-01', until: '2026-05-02' };
  expect(await store.rows(uptimeHour.select(empty))).toEqual([]);
});

it('days without blocks keep their rows beside a window that begins within an earlier day', {
  timeout: 120_000,
}, async () => {
  const at = (hours: number) => FIRST + hours * HOUR_MS;
  // Of the first chain two neighbours stand days apart; the second has blocks on days between them.
  const first = [
    ...[blockAt(100, at(0)), blockAt(101, at(100))],
    ...[blockAt(100, at(26), 'karura'), blockAt(102, at(74), 'karura')],
    ...[blockAt(100, at(72), 'moonriver'), blockAt(101, at(72.5), 'moonriver')],
  ];
  // A window that may have lost rows, since a block of it was replaced.
  const later = [blockAt(101, at(27), 'karura'), blockAt(101, at(72.6), 'moonriver')];
  const expected = await contentAtOnce([...first, ...later]);
  await using opened = await openTestPipeline();
  await loadAndCompute(opened.pipeline, first);
  await loadAndCompute(opened.pipeline, later);
  expect(differences(await contentOf(opened.pipeline), expected)).toEqual([]);
  // Another loader has stored a height at once: none of the two has seen the block of the other.
  await storeAgain(opened.pipeline, 'karura', at(26));
  await opened.pipeline.aggregator.requestRound();
  await opened.pipeline.aggregator.waitUntilComputed();
  expect(differences(await contentOf(opened.pipeline), expected)).toEqual([]);
});

/** Stores the blocks of an hour under a later number, as a load that marks none of them as replaced. */
async function storeAgain({ runtime: { store }, loadedUpTo }: Pipeline, chain: string, at: number) {
  const sequence = await loadedUpTo();
  const moment = new Date(at).toISOString();
  const ofHour = sql`chain = ${chain} AND ${within({ relays: [], from: moment.slice(0, 19).replace('T', ' '), until: '2149-01-01' })}`;
  for (const table of [blocks, extrinsics, events]) {
    const columns = Object.keys(table.columns);
    const names = raw(columns.join(', '));
    const values = columns.map((name) =>
      raw(name === 'rank' ? `rank - toUInt128(${blockSequenceSql('rank')}) + toUInt128(${sequence})` : name),
    );
    await store.run(
      sql`INSERT INTO ${table} (${names}) SELECT ${join(values)} FROM ${table} WHERE ${ofHour}`,
    );
  }
  const place = { pallet: '', relay_chain: 'kusama', chain, sequence: String(sequence) };
  await store.insert(dirtyHours, [{ ...place, hour: moment.slice(0, 19).replace('T', ' ') }]);
  await store.insert(dirtyDays, [{ ...place, stream: 'blocks', day: moment.slice(0, 10) }]);
}
