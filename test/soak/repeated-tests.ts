// Runs `npm test` again and again beside busy loops, since a test that fails by chance fails on a busy machine.
//
//   npx node test/soak/repeated-tests.ts [RUNS=10] [LOOPS=2]
import { spawn, spawnSync } from 'node:child_process';

const [runs, loops] = [process.argv[2] ?? '10', process.argv[3] ?? '2'].map(Number) as [number, number];
const busy = Array.from({ length: loops }, () => spawn(process.execPath, ['-e', 'for (;;);']));

let failed = 0;
for (let run = 1; run <= runs; run++) {
  const began = performance.now();
  const env = { ...process.env, NO_COLOR: '1' };
  const { status, stdout, stderr } = spawnSync('npm', ['test'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
    env,
  });
  const summary = stdout.match(/^.*(?:Test Files|Tests) .*$/gm)?.map((line) => line.trim()) ?? [];
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(
    `run ${run} of ${runs}, ${seconds} s: ${status === 0 ? 'green' : 'red'}, ${summary.join(', ')}`,
  );
  if (status === 0) continue;
  failed++;
  console.log(stderr.slice(Math.max(0, stderr.indexOf('Failed Tests'))));
}
for (const loop of busy) loop.kill();
process.exitCode = failed === 0 ? 0 : 1;
