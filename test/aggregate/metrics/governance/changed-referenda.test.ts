import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DIGEST, type MaterializedMetric } from '../../../../aggregate/metric.ts';
import { chainDay } from '../../../../aggregate/metrics/activity/chain-day.ts';
import { chainHour } from '../../../../aggregate/metrics/activity/chain-hour.ts';
import { votingFacts } from '../../../../aggregate/metrics/governance/folds/facts.ts';
import { votingSteps } from '../../../../aggregate/metrics/governance/folds/steps.ts';
import { voterRecords } from '../../../../aggregate/metrics/governance/folds/voter-records.ts';
import { votingMonths } from '../../../../aggregate/metrics/governance/folds/voting-months.ts';
import { govVoterHistory } from '../../../../aggregate/metrics/governance/gov-voter-history.ts';
import { monthlyGovParticipation } from '../../../../aggregate/metrics/governance/monthly-gov-participation.ts';
import { monthlyGovTokens } from '../../../../aggregate/metrics/governance/monthly-gov-tokens.ts';
import { referendumMonth } from '../../../../aggregate/metrics/governance/referendum-month.ts';
import {
  changedReferenda,
  stepsOfReferenda,
} from '../../../../aggregate/metrics/governance/referendum-steps.ts';
import { voteStep } from '../../../../aggregate/metrics/governance/vote-step.ts';
import { Chains } from '../../../../aggregate/metrics/shared/chains.ts';
import type { Fact } from '../../../../aggregate/metrics/shared/facts.ts';
import { chainsOf } from '../../../../aggregate/metrics/shared/sql.ts';
import { ALL_TIME } from '../../../../aggregate/planner/plan.ts';
import type { Store } from '../../../../infra/ports.ts';
import { Sql, sql } from '../../../../infra/sql.ts';
import { Random } from '../../../../ingest/demo/random.ts';
import type { InputLine } from '../../../reference/input.ts';
import { openAggregating } from '../../../support/aggregating.ts';
import { ingestLines } from '../../../support/pipeline.ts';
import { randomVotes } from './random-votes.ts';
import { ALICE, BOB, delegate, standard, vote, Writer } from './story.ts';

type Row = Readonly<Record<string, unknown>>;

const SEEDS = Array.from({ length: Number(process.env.SEEDS ?? 1) }, (_, index) => index + 1);
const METRICS = [
  chainHour,
  chainDay,
  voteStep,
  govVoterHistory,
  referendumMonth,
  monthlyGovParticipation,
  monthlyGovTokens,
];

let opened: Awaited<ReturnType<typeof openAggregating>>;
let store: Store;
beforeAll(async () => {
  opened = await openAggregating(METRICS);
  store = opened.pipeline.runtime.store;
});
afterAll(() => opened.close());

async function load(lines: readonly InputLine[]): Promise<void> {
  await ingestLines(opened.pipeline, lines);
  await opened.aggregator.waitUntilComputed();
}

/** Rows as text, in any order, without what JSON cannot hold exactly, and without the hash of all columns. */
const textOf = (rows: readonly Row[]) =>
  rows
    .map(({ [DIGEST]: _hash, ...row }) =>
      JSON.stringify(
        Object.entries(row)
          .map(([name, value]) => [name, String(value)])
          .sort(),
      ),
    )
    .sort();

const stored = async ({ table }: MaterializedMetric) =>
  textOf(await store.rows<Row>(sql`SELECT * EXCEPT (version, is_deleted) FROM ${table} FINAL`));

/** The slow reference: all steps of the whole history in one fold, from raw facts. */
async function folded() {
  const facts = await store.rows<Fact>(votingFacts({ relays: ['polkadot'], ...ALL_TIME }));
  const chains = await store.rows<Fact>(sql`SELECT 'chain' AS kind, * FROM ${chainsOf('polkadot')}`);
  const steps = [...votingSteps(facts)];
  const months = votingMonths(steps).map((row): Row => ({ relay_chain: 'polkadot', ...row }));
  return { records: voterRecords('polkadot', new Chains('polkadot', chains), steps), months };
}

/** Of the rows of all referenda in the months. */
function participation(rows: readonly Row[]): Row[] {
  const participants = rows.filter(({ account }) => account !== '');
  const chainsOfMonths = new Set(participants.map(({ month, chain }) => `${month} ${chain}`));
  return [...chainsOfMonths].flatMap((id) =>
    ['direct', 'delegated'].map((vote_type) => {
      const own = participants.filter(
        (row) => `${row.month} ${row.chain}` === id && row.vote_type === vote_type,
      );
      const [month, chain] = id.split(' ');
      return {
        relay_chain: 'polkadot',
        chain,
        month,
        vote_type,
        number_of_voters: new Set(own.map(({ account }) => account)).size,
        number_of_referenda: new Set(own.map(({ referendum_index }) => referendum_index)).size,
      };
    }),
  );
}

function sums(rows: readonly Row[]): string[] {
  const sides = Map.groupBy(
    rows.filter(({ account }) => account === ''),
    ({ month, chain, vote_type, vote_direction }) => `${month} ${chain} ${vote_type} ${vote_direction}`,
  );
  const sum = (of: readonly Row[], column: string) => of.reduce((all, row) => all + Number(row[column]), 0);
  return [...sides]
    .map(
      ([id, of]) =>
        `${id} ${sum(of, 'capital_planck')} ${sum(of, 'votes_planck')} ${sum(of, 'number_of_votes')}`,
    )
    .sort();
}

async function expectFolded(): Promise<void> {
  const { records, months } = await folded();
  expect(await stored(govVoterHistory)).toEqual(textOf(records));
  expect(await stored(referendumMonth)).toEqual(textOf(months));
  expect(await stored(monthlyGovParticipation)).toEqual(textOf(participation(months)));
  const tokens = await store.rows<Row>(sql`SELECT * FROM ${monthlyGovTokens.table} FINAL`);
  expect(sums(tokens.map((row) => ({ ...row, account: '' })))).toEqual(sums(months));
}

describe('referenda, folded as their steps change', () => {
  it.each(SEEDS)(
    'have the rows of one fold over everything, whatever comes late, twice or replaced, seed %i',
    async (seed) => {
      const random = new Random(seed);
      const lines = random.shuffled(randomVotes(random));
      for (let from = 0, size = 0; from < lines.length; from += size) {
        size = random.pick([5, 20, 40]);
        await load(lines.slice(from, from + size));
        await expectFolded();
      }
    },
    300_000,
  );

  it('have the same rows after a rebuild', async () => {
    await opened.aggregator.rebuild([govVoterHistory, referendumMonth], ALL_TIME.from, ALL_TIME.until);
    await expectFolded();
  });
});

describe('a block with new steps', () => {
  const writer = new Writer('polkadot', 5000);
  const changedBy = async (...extrinsics: Parameters<Writer['extrinsics']>[1][]) => {
    const read = () =>
      store.rows<{ referendum_index: number; version: string }>(
        sql`SELECT referendum_index, toString(max(record.version)) AS version FROM ${govVoterHistory.table} AS record
          GROUP BY referendum_index ORDER BY referendum_index`,
      );
    const before = await read();
    const lines = writer.lines.length;
    writer.extrinsics(`2024-04-01T00:00:0${lines}.000Z`, ...extrinsics);
    await load(writer.lines.slice(lines));
    const known = new Map(before.map((row) => [row.referendum_index, row.version]));
    return (await read())
      .filter((row) => known.get(row.referendum_index) !== row.version)
      .map(({ referendum_index }) => referendum_index);
  };

  it('changes the rows of its referenda only', async () => {
    expect(await changedBy(vote(ALICE, 100, standard(true, 1, '5')))).toEqual([100]);
    expect(
      await changedBy(vote(BOB, 100, standard(true, 1, '5')), vote(BOB, 101, standard(true, 1, '5'))),
    ).toEqual([100, 101]);
    await expectFolded();
  });

  it('changes the open referenda of a track when it delegates', async () => {
    expect(await changedBy(delegate(BOB, 77, ALICE, 'Locked1x', '10'))).toEqual([]);
    await expectFolded();
  });

  it('changes nothing without a vote', async () => {
    expect(await changedBy()).toEqual([]);
  });
});

describe('of 400,000 votes', () => {
  const RELAY = 'kusama';
  /** Granules of the steps that a statement reads. */
  const granules = async (statement: Sql) => {
    const read = await store.rows<{ table: string; marks: number }>(
      new Sql(`EXPLAIN ESTIMATE ${statement.text}`),
    );
    return read.filter(({ table }) => table === voteStep.name).reduce((sum, { marks }) => sum + marks, 0);
  };

  it('a referendum is read without the others, and what has changed without what has not', async () => {
    await store.run(sql`INSERT INTO ${voteStep.table} (relay_chain, subject, entity, at, chain, number, place, kind, version, digest)
      SELECT ${RELAY}, 'vote', intDiv(number, 270), toDateTime64('2024-01-01', 3, 'UTC') + number, ${RELAY}, number, 3, 'Standard', 7, number
      FROM numbers(400000)`);
    const all = await granules(sql`SELECT account FROM ${voteStep.table} WHERE relay_chain = ${RELAY}`);
    expect(all).toBeGreaterThan(40);
    expect(await granules(stepsOfReferenda({ relays: [RELAY], ...ALL_TIME }, [700]))).toBeLessThanOrEqual(4);
    expect(await granules(changedReferenda(RELAY, 7n))).toBeLessThanOrEqual(4);
  });
});
