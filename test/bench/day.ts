/** One touched day: its rows compared with the stored ones, and written, against the statement by hand for that day. */
import { VERSIONS_PER_WINDOW, writeRows } from '../../aggregate/runner/write-rows.ts';
import { sequenceAt } from '../../infra/coordination/sequence.ts';
import { byHand, createHandTable, expectSameRows, FINAL, runByHand } from './by-hand.ts';
import { ONE_DAY, openHistory } from './history.ts';
import { compare, type Figure, milliseconds, ms, readSizes, report } from './measure.ts';

const GOAL = 3;
/** Each takes milliseconds: many of them make one measurement. */
const TIMES = 10;
const sizes = readSizes();
const { pipeline, close } = await openHistory(sizes.extrinsics, sizes.history);
const { store } = pipeline.runtime;
const figures: Figure[] = [];
let version = sequenceAt(Date.now());
for (const hand of byHand) {
  const computeDay = async () => {
    version += BigInt(VERSIONS_PER_WINDOW);
    // Of rows that are stored already, so that there are some to write.
    await writeRows(store, { metric: hand.metric, window: ONE_DAY }, { version, writesEqualRows: true });
  };
  const byStatement = () => runByHand(store, hand, ONE_DAY, FINAL);
  const manyTimes = (work: () => Promise<void>) => async () => {
    const taken = await milliseconds(async () => {
      for (let i = 0; i < TIMES; i++) await work();
    });
    return taken / TIMES;
  };
  await createHandTable(store, hand);
  await computeDay();
  await byStatement();
  await expectSameRows(store, hand, ONE_DAY);
  const { product, peer, ratio } = await compare(sizes.rounds, manyTimes(computeDay), manyTimes(byStatement));
  figures.push({
    work: `${hand.metric.name} of one touched day`,
    peer: 'the same day by hand, FINAL',
    figure: `${ms(product)} against ${ms(peer)}`,
    ratio,
    goal: `<= ${GOAL}`,
    met: ratio <= GOAL,
  });
}
await close();
report(figures);
