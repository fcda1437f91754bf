import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { nodeOptions } from '../../serve/node-options.js';

/** MB that V8 gives young objects at most, of which it tells in a trace of what it collects. */
function youngMegabytes(given?: string): number {
  const fill =
    'const kept = []; for (let i = 0; i < 3e6; i++) { kept.push({ i }); if (i % 1e6 === 0) kept.length = 0; }';
  const spaces =
    "v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size";
  const said = execFileSync(process.execPath, ['-e', `${fill} console.log(${spaces})`], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: nodeOptions(given) },
  });
  return Number(said) / 2 ** 20;
}

it('bounds the space of young objects, unless an operator sets another bound', () => {
  expect(youngMegabytes()).toBeLessThanOrEqual(32);
  expect(youngMegabytes('--max-semi-space-size=4')).toBeLessThanOrEqual(8);
  expect(youngMegabytes('--max-semi-space-size=64')).toBeGreaterThan(32);
});

it('are those of the image, which starts its Node by itself', () => {
  const image = readFileSync(new URL('../../infra/Dockerfile', import.meta.url), 'utf8');
  expect(image).toContain(`NODE_OPTIONS="${nodeOptions()}"`);
});
