import { live } from '../distributed/chaos.ts';

// `SEEDS=10 KILLS=100 npx node test/soak/chaos.ts`: lives of a distributed deployment, one for each seed.
const { FROM = '1', SEEDS = '3', KILLS = '40' } = process.env;

for (let seed = Number(FROM); seed < Number(FROM) + Number(SEEDS); seed++) {
  const report = await live({
    seed,
    share: 0.7,
    kills: Number(KILLS),
    isLong: true,
    onStep: ({ done }) => process.stdout.write(`\rseed ${seed} ${JSON.stringify(done)}`),
  });
  process.stdout.write(
    `\nseed ${seed}: ${report.faults.length === 0 ? 'the same rows' : report.faults.join('\n')}\n`,
  );
  if (report.faults.length > 0) process.exit(1);
}
process.exit(0);
