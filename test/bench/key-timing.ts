// Whether the time of an answer tells an unknown integration from a wrong key: the ratio of the medians, 1 if it does not.
//
//   npx node test/bench/key-timing.ts
import { Service } from '../serve/alerts/service.ts';

const ROUNDS = 600;

const median = (times: number[]) => times.sort((a, b) => a - b)[times.length >> 1] as number;

const service = await Service.open({});
const ann = await service.person('ann');
const source = await service.source(ann, await service.project(ann));
const key = 'A'.repeat(43);
const wrong: number[] = [];
const unknown: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  for (const [path, times] of [
    [source.path, wrong],
    ['/alerts/0123456789abcdef/notify.json', unknown],
  ] as const) {
    const started = performance.now();
    await service.send({ path, key }, '{}');
    times.push(performance.now() - started);
  }
}
console.log(`wrong key / unknown integration: ${(median(wrong) / median(unknown)).toFixed(2)}`);
await service.close();
