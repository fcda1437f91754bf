import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { canRun } from '../../support/needed.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { run } from './program.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());

const FILES = { bash: 'chain-metrics.bash', zsh: '_chain-metrics', fish: 'chain-metrics.fish' };
const fileOf = (shell: keyof typeof FILES) => join(place.path, FILES[shell]);

beforeAll(async () => {
  await Promise.all(
    (['bash', 'zsh', 'fish'] as const).map(async (shell) => {
      const { code, stdout } = await run(['completion', shell]);
      expect(code).toBe(0);
      writeFileSync(fileOf(shell), stdout);
    }),
  );
});

function outputOf(program: string, args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync(program, args, { encoding: 'utf8', cwd: place.path });
  expect(stderr).toBe('');
  expect(status).toBe(0);
  return stdout;
}

it('completes in bash', () => {
  const questions: [words: string, proposed: string[]][] = [
    ['sta', ['start', 'status']],
    ['users reset', ['reset-password', 'reset-two-factor']],
    ['status --j', ['--json']],
    ['export daily-f', ['daily-fees']],
    ['export daily-fees --format = p', ['parquet']],
    ['export --chain kusa', ['kusama', 'kusama-relay']],
    ['gaps --chain users --c', ['--chain']],
    ['completion z', ['zsh']],
    ['ingest x', []],
  ];
  const asked = questions.map(
    ([words]) =>
      `COMP_WORDS=(chain-metrics ${words}); COMP_CWORD=${words.split(' ').length}; _chain_metrics; echo "\${COMPREPLY[*]}"`,
  );
  const answers = outputOf('bash', ['--norc', '-c', `source ${fileOf('bash')}\n${asked.join('\n')}`]).split(
    '\n',
  );
  questions.forEach(([words, proposed], i) => {
    const found = answers[i]?.split(' ').filter(Boolean) ?? [];
    expect(found.slice(0, proposed.length || 1), words).toEqual(proposed);
  });
  expect(outputOf('bash', ['--norc', '-c', `source ${fileOf('bash')}; complete -p chain-metrics`])).toContain(
    '_chain_metrics chain-metrics',
  );
});

it.runIf(canRun('/usr/bin/fish'))('completes in fish', () => {
  const ask = (line: string) =>
    outputOf('fish', ['--no-config', '-c', `source ${fileOf('fish')}; complete -C '${line}'`])
      .split('\n')
      .map((one) => one.split('\t')[0])
      .filter(Boolean);
  expect(ask('chain-metrics sta')).toEqual(['start', 'status']);
  expect(ask('chain-metrics users reset')).toEqual(['reset-password', 'reset-two-factor']);
  expect(ask('chain-metrics export daily-f')).toEqual(['daily-fees']);
  expect(ask('chain-metrics export --format p')).toEqual(['parquet']);
  expect(ask('chain-metrics status --j')).toEqual(['--json']);
});

it.runIf(canRun('/usr/bin/zsh'))('completes in zsh', () => {
  const questions = [
    ['export daily-f', 'daily-fees'],
    ['users reset-t', 'reset-two-factor'],
    ['export --format pa', 'parquet'],
    ['status --js', '--json'],
  ] as const;
  // A shell of its own on a terminal; it is asked by the key that completes, and read until it has answered.
  const asked = questions.map(
    ([words, answer]) =>
      `zpty -w -n shell $'chain-metrics ${words}\\t'; zpty -r -m shell out '*${answer}*'; print 'answered ${answer}'; zpty -w -n shell $'\\C-u'`,
  );
  const script = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'fpath=(${place.path} $fpath); autoload -Uz compinit; compinit -D -u; chain-metrics() { }; echo REA""DY'
zpty -r -m shell out '*READY*'
${asked.join('\n')}
zpty -d shell`;
  const answers = outputOf('zsh', ['-f', '-c', script]);
  expect(answers.trim().split('\n')).toEqual(questions.map(([, answer]) => `answered ${answer}`));
});
