import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { linesOf } from '../../application/cli/program.ts';
import { runHere } from '../../application/cli/run-here.ts';

test('chain-metrics keys lists and replaces the keys that sign ID tokens', async () => {
  using directory = temporaryDirectory();
  const env = { DATA_DIR: directory.path };
  await runHere(['users', 'create', 'ada'], env);
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runHere(['keys', ...args], env);
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  };
  const kids = async () =>
    (JSON.parse(await run('list', '--json')).keys as { kid: string }[]).map(({ kid }) => kid);

  expect(await run('list')).toMatch(/^There are no keys yet/);
  const [heading, ...rows] = linesOf(await run('rotate'));
  expect(heading).toMatch(/^key ID +algorithm +signs from +published until/);
  expect(rows.map((row) => row.replace(/^\S{43} +/, ''))).toEqual(
    ['RS256', 'ES256'].map((alg) =>
      expect.stringMatching(new RegExp(`^${alg} +20..-..-.. ..:.. UTC +not replaced$`)),
    ),
  );
  const first = await kids();
  await run('rotate');
  expect(await kids()).toEqual(expect.arrayContaining(first));
  expect(await kids()).toHaveLength(4);
  const listed = await run('rotate', '--revoke', '--json');
  expect(JSON.parse(listed).keys).toHaveLength(2);
  expect(listed).not.toMatch(/"(?:d|p|q|private\w*)"/);
  for (const kid of first) expect(await kids()).not.toContain(kid);
});
