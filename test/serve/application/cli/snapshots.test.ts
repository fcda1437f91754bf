import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { sql } from '../../../../infra/sql.ts';
import { snapshots } from '../../../../ingest/raw/tables.ts';
import { until } from '../../../infra/ports/opened.ts';
import { lastHeights, made } from '../../../ingest/node/state/made-days.ts';
import { serveState } from '../../../ingest/node/state/served-state.ts';
import { guideBlocks } from '../../../support/guide-blocks.ts';
import { openPipelineAt } from '../../../support/pipeline.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { begin, run } from './program.ts';

const BLOCKS = 250;
const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03', '2026-03-04', '2026-03-05'];
const ends = lastHeights(BLOCKS);

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const directory = (name: string) => ({ DATA_DIR: join(place.path, name) });

async function served(prunedBelow = 0, delayMs = 0) {
  const state = made(BLOCKS, prunedBelow);
  const { url, close } = await serveState(state, delayMs);
  onTestFinished(close);
  return { state, url };
}

/** The made node is of no network, so the chain is named. */
const backfill = (url: string, ...more: string[]) => [
  ...['backfill', '--node', url, '--chain', 'coretime-westend', '--force', '--snapshots', '--json'],
  ...['--from', DAYS[0] as string, '--to', DAYS.at(-1) as string, ...more],
];

/** What is stored: kind, day, height and the number of accounts. */
async function storedIn({ DATA_DIR }: { readonly DATA_DIR: string }): Promise<string[]> {
  const pipeline = await openPipelineAt(DATA_DIR);
  try {
    const rows = await pipeline.runtime.store.rows<{ row: string }>(sql`
      SELECT concat(kind, ' ', toString(toDate(as_of)), ' ', toString(block_number), ' ', JSONExtractRaw(payload, 'count')) AS row
      FROM ${snapshots} ORDER BY kind, as_of`);
    return rows.map(({ row }) => row.trim());
  } finally {
    await pipeline.close();
  }
}

const accounts = (day: string) => `account_count ${day} ${ends.get(day)} ${ends.get(day)}`;
const whole = [
  ...DAYS.map(accounts),
  ...DAYS.slice(2).map((day) => `coretime_config ${day} ${ends.get(day)}`),
];

it('brings the state of each day, killed or not, and tells which days the node did not give', async () => {
  const env = directory('killed');
  const { state, url } = await served(0, 20);
  const child = begin(backfill(url), { env });
  const ended = once(child, 'close');
  // Some days are stored by then, and another one is being read.
  await until(
    'a second day is read',
    () => state.asked.filter(({ method }) => method === 'state_getKeysPaged').length >= 3,
  );
  child.kill('SIGKILL');
  await ended;

  const again = await served();
  const { code, stdout, stderr } = await run(backfill(again.url), { env });
  expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({ chain: 'coretime-westend', from: DAYS[0], skipped: 2, refused: 0 });
  expect(await storedIn(env)).toEqual(whole);

  const gaps = await run(['gaps'], { env });
  expect(gaps.stdout).toContain('coretime-westend: snapshots that a node could not provide');
  expect(gaps.stdout).toMatch(/coretime_config +2026-03-01 to 2026-03-02 +no sale has begun yet/);
  const third = await run(backfill(again.url), { env });
  // Only what was skipped is asked for again.
  expect(JSON.parse(third.stdout)).toMatchObject({ days: 2, skipped: 2 });
});

it('asks the next node for the days that one has pruned', async () => {
  const env = directory('pruned');
  const pruned = await served((ends.get('2026-03-03') as number) + 1);
  const alone = await run(backfill(pruned.url), { env });
  expect(JSON.parse(alone.stdout)).toMatchObject({ days: 2, skipped: 6 });
  const { stdout } = await run(['gaps'], { env });
  expect(stdout).toMatch(
    /account_count +2026-03-01 to 2026-03-03 +the node has pruned the state of that day/,
  );

  const archive = await served();
  const both = await run(backfill(pruned.url, '--node', archive.url), { env });
  expect(JSON.parse(both.stdout)).toMatchObject({ skipped: 2 });
  expect(await storedIn(env)).toEqual(whole);
  expect((await run(['gaps'], { env })).stdout).not.toContain('pruned');
});

it('tells what is missing, and refuses what it cannot do', async () => {
  const env = directory('plan');
  const { url } = await served();
  const plan = await run(backfill(url, '--dry-run'), { env });
  expect(JSON.parse(plan.stdout).missing).toHaveLength(DAYS.length);
  const [guide = ''] = guideBlocks('backfill', 'state');
  const words = guide
    .trim()
    .replace(/wss:\S+/, url)
    .split(' ')
    .slice(1);
  // The made node is of no network, and has no blocks of those days.
  const shown = await run([...words, '--chain', 'coretime-westend', '--force'], { env });
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('state of 0 days') });
  const byHeight = await run(['backfill', '--node', url, '--snapshots', '--from', '5'], { env });
  expect(byHeight.code).toBe(2);
  expect(byHeight.stderr).toContain('with --snapshots pass --node and days');
});
