/** A daily metric made anew over the whole history, against one statement by hand that gives the same rows. */
import { byHand, createHandTable, expectSameRows, FINAL, NOT_FINAL, runByHand } from './by-hand.ts';
import { openHistory, YEAR } from './history.ts';
import { compare, type Figure, median, milliseconds, ms, readSizes, report } from './measure.ts';

const GOAL = 1.3;
const sizes = readSizes();
const { pipeline, close } = await openHistory(sizes.extrinsics, sizes.history);
const { store } = pipeline.runtime;
const figures: Figure[] = [];
for (const hand of byHand) {
  const rebuild = () => pipeline.aggregator.rebuild([hand.metric], YEAR.from, YEAR.until);
  const byStatement = async (final = FINAL) => {
    await createHandTable(store, hand);
    return milliseconds(() => runByHand(store, hand, YEAR, final));
  };
  await rebuild();
  await byStatement();
  await expectSameRows(store, hand, YEAR);
  const { product, peer, ratio } = await compare(
    sizes.rounds,
    () => milliseconds(rebuild),
    () => byStatement(),
  );
  const notFinal = median([
    await byStatement(NOT_FINAL),
    await byStatement(NOT_FINAL),
    await byStatement(NOT_FINAL),
  ]);
  figures.push({
    work: `${hand.metric.name} of ${sizes.extrinsics.toLocaleString('en')} extrinsics`,
    peer: 'one INSERT SELECT by hand, FINAL',
    figure: `${ms(product)} against ${ms(peer)}`,
    ratio,
    goal: `<= ${GOAL}`,
    met: ratio <= GOAL,
    details: [
      `by hand without FINAL (wrong once a block is loaded again): ${ms(notFinal)}, ratio ${(product / notFinal).toFixed(2)}`,
    ],
  });
}
await close();
report(figures);
