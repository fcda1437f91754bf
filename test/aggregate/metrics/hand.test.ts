import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { blocks, calls, events, extrinsics, refusedFacts } from '../../../ingest/raw/tables.ts';
import { HAND_COUNTS, type HandCount } from '../../reference/hand.ts';
import { ingestLines, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { recordedLines } from '../../support/recordings.ts';

let opened: TestPipeline;

beforeAll(async () => {
  opened = await openTestPipeline();
  const { pipeline } = opened;
  const lines = [...recordedLines('blocks'), ...recordedLines('runtime')];
  await pipeline.aggregator.pauseComputation(() => ingestLines(pipeline, lines));
});
afterAll(() => opened.close());

/** The rows of one block in the raw tables, under the names of the hand counts. */
async function countsOf({ chain, number }: HandCount): Promise<object | undefined> {
  const here = sql`chain = ${chain} AND number = ${number}`;
  const [row] = await opened.pipeline.runtime.store.rows<object>(sql`
    SELECT isTimed, extrinsics, events, xcmMessages, signed, evm, feesPlanck, transfers, newAccounts,
      killedAccounts, remarkCalls + remarkEvents AS remarked, xcmTransferred, succeeded, failed, rows, refused
    FROM (SELECT CAST(isNotNull(time), 'Bool') AS isTimed, extrinsics, events FROM ${blocks} FINAL WHERE ${here}) AS block
    CROSS JOIN (
      SELECT count() AS rows, countIf(signed) AS signed, countIf(ethereum) AS evm, toString(sum(fee)) AS feesPlanck
      FROM ${extrinsics} FINAL WHERE ${here}) AS ofExtrinsics
    CROSS JOIN (
      SELECT countIf(pallet = 'balances' AND event = 'Transfer') AS transfers,
        countIf(pallet = 'system' AND event = 'NewAccount') AS newAccounts,
        countIf(pallet = 'system' AND event = 'KilledAccount') AS killedAccounts,
        countIf(pallet = 'system' AND event = 'Remarked') AS remarkEvents,
        countIf(pallet = 'system' AND event = 'ExtrinsicSuccess') AS succeeded,
        countIf(pallet = 'system' AND event = 'ExtrinsicFailed') AS failed,
        countIf((pallet, event) IN (('messageQueue', 'Processed'), ('xcmpQueue', 'XcmpMessageSent'),
          ('xcmpQueue', 'Success'), ('xcmpQueue', 'Fail'), ('parachainSystem', 'UpwardMessageSent'),
          ('dmpQueue', 'ExecutedDownward'))) AS xcmMessages
      FROM ${events} FINAL WHERE ${here}) AS ofEvents
    CROSS JOIN (
      SELECT countIf(pallet = 'system' AND call = 'remark') AS remarkCalls,
        countIf(pallet IN ('polkadotXcm', 'xcmPallet') AND match(call, '(?i)transfer|teleport')) AS xcmTransferred
      FROM ${calls} FINAL WHERE ${here}) AS ofCalls
    CROSS JOIN (SELECT count() AS refused FROM ${refusedFacts} FINAL WHERE ${here}) AS ofRefusals`);
  return row;
}

it.each(HAND_COUNTS)('$chain $number: $note', async (count) => {
  const { folder, chain, number, note, ...expected } = count;
  // The sum of unknown amounts is 0 here; the metrics say null.
  const feesPlanck = expected.feesPlanck ?? '0';
  expect(await countsOf(count)).toEqual({ ...expected, feesPlanck, rows: expected.extrinsics, refused: 0 });
});
