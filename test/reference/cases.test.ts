import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../infra/sql.ts';
import { deadLetters } from '../../ingest/raw/tables.ts';
import { openServed, type Served } from '../aggregate/metrics/coretime/served.ts';
import type { InputLine } from './input.ts';
import { ALICE, BOB, type Row, SUMMARY } from './rules/rule.ts';

type Case = {
  readonly files: readonly string[];
  readonly chain: string;
  readonly title: string;
  /** Of the lines that are refused whole. */
  readonly refused?: readonly RegExp[];
  /** The rows of a path, with the fields that are named. */
  readonly answers?: Readonly<Record<string, readonly Row[]>>;
};

const HUB = 'asset-hub-polkadot';
const VOTES = 'gov-voter-history';
const REWARDS = 'daily-staking-rewards?start_date=2000-01-01&end_date=2100-01-01';
const CHILDREN = 'gov-child-bounties';
const aye = (voter: string, capital: number, more: Row = {}) => ({
  voter,
  capital,
  vote_direction: 'aye',
  ...more,
});
const fees = (chain: string, row: Row) => ({ [`daily-fees?chain=${chain}`]: [row] });

const CASES: readonly Case[] = [
  { files: ['P01'], chain: 'polkadot', title: 'a final block whose events were lost', refused: [/events missing/], answers: { [SUMMARY]: [] } },
  { files: ['P01b'], chain: 'polkadot', title: 'one whose lists of events are empty', refused: [/events missing/], answers: { [SUMMARY]: [] } },
  { files: ['P02'], chain: 'polkadot', title: 'no extrinsics above block 0', refused: [/extrinsics missing/], answers: { [SUMMARY]: [] } },
  { files: ['P03'], chain: 'polkadot', title: 'an extrinsic without an outcome event, and one with two', answers: {
    [`${SUMMARY}&chain=polkadot`]: [{ num_extrinsics: 3, num_extrinsic_success: 1, num_extrinsic_failed: 0 }],
    'explorer/recent-extrinsics?chain=polkadot': [{ success: null }, { success: null }, { success: true }],
  } },
  { files: ['P04'], chain: 'polkadot', title: 'a general transaction with an event of its fee', answers: {
    ...fees('polkadot', { total_fees_planck: '310000000', num_fee_paying: 2, fee_unknown: 0 }),
    'daily-tps?chain=polkadot': [{ num_transactions_combined: 2, num_transactions_signed: 1 }],
  } },
  { files: ['P05'], chain: HUB, title: 'an Ethereum transaction with one', answers: fees(HUB, { total_fees_planck: '1562500000' }) },
  { files: ['P06'], chain: 'moonbeam', title: 'an Ethereum transaction without one', answers: fees('moonbeam', { total_fees: null, total_fees_planck: null, fee_unknown: 1 }) },
  { files: ['P07'], chain: 'acala', title: 'an event of four fields', answers: fees('acala', { total_fees_planck: '2490128143', fee_unknown: 0 }) },
  { files: ['P09b'], chain: 'asset-hub-westend', title: 'a fee in another asset', answers: fees('asset-hub-westend', { total_fees_planck: '0', num_fee_paying: 0, fee_unknown: 0 }) },
  { files: ['P14d'], chain: HUB, title: 'an answer about a block of the relay chain', refused: [/parachainDataPerBlock/] },
  { files: ['P15c'], chain: HUB, title: 'ifElse around two votes', answers: { [VOTES]: [aye(ALICE, 1)] } },
  { files: ['P15d'], chain: HUB, title: 'ifElse around a delegation', answers: { [VOTES]: [aye(BOB, 1, { delegated_capital: 5 }), aye(ALICE, 5, { delegated_to: BOB })] } },
  { files: ['P15f'], chain: HUB, title: 'dispatchAsFallible around a vote', answers: { [VOTES]: [aye(ALICE, 1)] } },
  { files: ['P16'], chain: HUB, title: 'a remote proxy around a delegation', answers: { [VOTES]: [aye(BOB, 5, { delegated_to: ALICE, conviction: 1 }), aye(ALICE, 1, { delegated_votes: 5 })] } },
  { files: ['P17d'], chain: HUB, title: 'an inherited account that delegates', answers: { [VOTES]: [aye('12xtAYsRUrmbniiWQqJtECiBQrMn8AypQcXhnQAc6RB6XkLW', 5, { delegated_to: BOB }), aye(BOB, 1, { delegated_votes: 5 })] } },
  { files: ['P19'], chain: HUB, title: 'a payout with an incentive', answers: { [REWARDS]: [{ account: BOB, reward_planck: '1038234600000000', num_payouts: 2 }] } },
  { files: ['P20'], chain: 'polkadot', title: 'a child bounty before and after it got another number', answers: {
    [CHILDREN]: [{ child_bounty_id: 0, status: 'Claimed', claimed_amount: 50, added_at: null }, { child_bounty_id: 2519, status: 'Added', claimed_amount: null }],
    'gov-parent-bounty-summary': [{ child_bounty_count: 1, total_claimed: 50 }],
  } },
  { files: ['P20c'], chain: 'polkadot', title: 'two child bounties of one number', answers: {
    [CHILDREN]: [{ child_bounty_id: 4, claimed_amount: 10 }, { child_bounty_id: 4, claimed_amount: 70 }],
    'gov-parent-bounty-summary': [{ child_bounty_count: 2, child_bounties_claimed: 2, total_claimed: 80 }],
  } },
  { files: ['P26-1', 'P26-2'], chain: 'bulletin', title: 'a network that began again', refused: [/another genesis/, /another genesis/], answers: {
    [`${SUMMARY}&chain=bulletin`]: [{ num_blocks: 10, first_block: 1, last_block: 10 }],
  } },
  { files: ['P28'], chain: 'asset-hub-kusama', title: 'an instantiation of which nothing tells', answers: { 'contracts-deployed-heatmap': [{ count: null }] } },
  { files: ['P51.moonbeam'], chain: 'moonbeam', title: 'amounts above 2^63', answers: { 'daily-fees?chain=moonbeam': [{ total_fees_planck: '12345678901234567890' }, { total_fees_planck: '1234567890123456789' }] } },
]; // biome-ignore format: one case, a few lines

const fixture = (name: string) => new URL(`../fixtures/cases/${name}`, import.meta.url);
const linesOf = ({ files, chain }: Case): InputLine[] =>
  files.flatMap((file) =>
    readFileSync(fixture(`${file}.ndjson`), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => ({ line, chain })),
  );

describe('inputs that were once read wrong', () => {
  let served: Served;
  beforeAll(async () => {
    served = await openServed(undefined, { CHAINS_FILE: fileURLToPath(fixture('P26-chains.json')) });
  });
  afterEach(() => served.forget());
  afterAll(() => served.close());

  it.each(CASES)('$files: $title', async (one) => {
    await served.ingest(...linesOf(one));
    const letters = await served.pipeline.runtime.store.rows<{ reason: string }>(
      sql`SELECT reason FROM ${deadLetters} FINAL ORDER BY origin, line`,
    );
    expect(letters.map(({ reason }) => reason)).toEqual(
      (one.refused ?? []).map((text) => expect.stringMatching(text)),
    );
    for (const [path, rows] of Object.entries(one.answers ?? {})) {
      expect(await served.rows(`/api/${path}`)).toEqual(rows.map((row) => expect.objectContaining(row)));
    }
  });
});
