import { live } from '../distributed/chaos.ts';
import { contentOfCleanRun, everythingRecorded } from '../distributed/clean-run.ts';
import { Random } from '../support/random.ts';

// `SEEDS=10 KILLS=100 npx node test/soak/chaos.ts`: lives of a distributed deployment, one for each seed.
const { SEEDS = '3', KILLS = '40' } = process.env;

for (let seed = 1; seed <= Number(SEEDS); seed++) {
  const random = new Random(seed);
  const lines = everythingRecorded().filter(() => random.chance(0.7));
  const expected = await contentOfCleanRun(lines);
  const report = await live({
    lines,
    expected,
    random,
    kills: Number(KILLS),
    onStep: ({ done }) => process.stdout.write(`\rseed ${seed} ${JSON.stringify(done)}`),
  });
  process.stdout.write(
    `\nseed ${seed}: ${report.faults.length === 0 ? 'the same rows' : report.faults.join('\n')}\n`,
  );
  if (report.faults.length > 0) process.exit(1);
}
process.exit(0);
