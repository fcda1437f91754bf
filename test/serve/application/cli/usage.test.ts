import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { VERSION } from '../../../../infra/version.ts';
import { guideFile } from '../../../../serve/guides/guides.ts';
import { settings } from '../../../../serve/settings/settings.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { type Ended, linesOf, run } from './program.ts';
import { runHere } from './run-here.ts';

const place = temporaryDirectory();
const env = { DATA_DIR: join(place.path, 'data') };
afterAll(() => place[Symbol.dispose]());

describe('what needs no engine', () => {
  it('explains itself and every command', async () => {
    const [whole, ingest, version] = await Promise.all([
      run(['--help']),
      run(['ingest', '--help']),
      run(['--version']),
    ]);
    expect(whole.code).toBe(0);
    for (const word of ['start', 'ingest', 'status', 'rebuild', 'settings', 'Examples', 'Exit codes']) {
      expect(whole.stdout).toContain(word);
    }
    expect(ingest.stdout).toContain('snapshot/1');
    expect(version.stdout).toBe(`${VERSION}\n`);
  });

  it('has every command in its guide', async () => {
    const { stdout } = await run(['--help']);
    const commands = [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([a-z-]+)(?= )/gm)].map(
      ([, name = '']) => name,
    );
    const guide = readFileSync(guideFile('command-line'), 'utf8');
    expect(commands).toContain('ingest');
    expect(
      commands.filter(
        (name) =>
          !['help', 'chain-metrics'].includes(name) && !new RegExp(`^\\| .*\`${name}\\b`, 'm').test(guide),
      ),
    ).toEqual([]);
  });

  it('lists every setting with what it is set to', async () => {
    const { code, stdout } = await run(['settings'], { env: { PORT: '8123' } });
    expect(code).toBe(0);
    for (const name of Object.keys(settings.shape)) expect(stdout).toContain(name);
    expect(stdout).toMatch(/^PORT +8123 +3000 /m);
  });

  it('is in colour where it is asked for, and nowhere else', async () => {
    const isColoured = ({ stdout, stderr }: Ended) =>
      stripVTControlCharacters(stdout + stderr) !== stdout + stderr;
    const plain = await Promise.all([
      run(['settings'], { env }),
      run(['settings', '--no-color'], { env: { ...env, FORCE_COLOR: '1' } }),
      run(['--help'], { env }),
      run(['status'], { env: { ...env, PORT: 'eighty' } }),
    ]);
    expect(plain.map(isColoured)).toEqual([false, false, false, false]);
    const coloured = await Promise.all([
      run(['settings'], { env: { ...env, FORCE_COLOR: '1' } }),
      run(['status'], { env: { ...env, FORCE_COLOR: '1', PORT: 'eighty' } }),
    ]);
    expect(coloured.map(isColoured)).toEqual([true, true]);
  });

  it('tells machines what it tells people', async () => {
    const { stdout } = await run(['settings', '--json'], {
      env: { PORT: '8123', CLICKHOUSE_PASSWORD: 'hush' },
    });
    const listed = JSON.parse(stdout) as { name: string; set_to: string | null; default: string | null }[];
    expect(listed.map(({ name }) => name)).toEqual(Object.keys(settings.shape));
    expect(listed.find(({ name }) => name === 'PORT')).toMatchObject({ set_to: '8123', default: '3000' });
    expect(stdout).not.toContain('hush');
  });

  it('shows in which file a secret is, and no secret', async () => {
    const file = join(place.path, 'password');
    writeFileSync(file, 'hush\n');
    const { code, stdout } = await run(['settings'], {
      env: { KAFKA_PASSWORD_FILE: file, CLICKHOUSE_PASSWORD: 'hush' },
    });
    expect(code).toBe(0);
    expect(stdout).toContain(`(in ${file})`);
    expect(stdout).toContain('(hidden)');
    expect(stdout).not.toContain('hush');
    expect((await run(['--help'])).stdout).toMatch(/KAFKA_PASSWORD.*\scan\sbe\sin\sa\sfile,.*NAME_FILE/s);
  });

  it('answers wrong usage with 2 and one line that says what is wrong', async () => {
    const wrong: [args: string[], says: RegExp, env?: Record<string, string>][] = [
      [['ingets', 'x'], /unknown command 'ingets'\n\(Did you mean ingest\?\)/],
      [['users', 'lst'], /unknown command 'lst'\n\(Did you mean list\?\)/],
      [['status', '--jsn'], /unknown option '--jsn'\n\(Did you mean --json\?\)/],
      [['ingest'], /missing required argument 'path'/],
      [['ingest', '-', '-'], /standard input \(-\) can be read only once/],
      [['start', '--port', '1'], /unknown option '--port'/],
      [['rebuild', 'daily-feet'], /no metric is called daily-feet: did you mean daily-fees\?$/m],
      [['rebuild', 'explorer/network-stats'], /computed on each request/],
      [['rebuild', '--from', '2024-02-30'], /--from.*2024-02-30.*YYYY-MM-DD/],
      [['rebuild', '--from', '2024-02-03', '--until', '2024-02-02'], /--until 2024-02-02 is before --from/],
      [['status'], /PORT=eighty/, { PORT: 'eighty' }],
      [['settings'], /LOG_LEVEL=loud/, { LOG_LEVEL: 'loud' }],
      [['export', 'daily-fees'], /CHAINS_FILE=\/nowhere\.json/, { CHAINS_FILE: '/nowhere.json' }],
    ];
    const answers = await Promise.all(wrong.map(([args, , more]) => run(args, { env: { ...env, ...more } })));
    answers.forEach(({ code, stderr }, i) => {
      const [args, says] = wrong[i] as (typeof wrong)[number];
      expect(stderr, args.join(' ')).toMatch(says);
      expect(stderr, args.join(' ')).not.toMatch(/^\s+at /m);
      expect(code, args.join(' ')).toBe(2);
    });
  });

  it('finds no store where none was made, says how to make one, and makes no directory', async () => {
    const reading = [
      ['status'],
      ['sql', 'SELECT 1'],
      ['export', 'daily-fees'],
      ['backup', join(place.path, 'b')],
    ];
    for (const args of [
      ...reading,
      ['check'],
      ['gaps'],
      ['rebuild'],
      ['dead-letters', 'list'],
      ['users', 'list'],
    ]) {
      const { code, stderr } = await runHere(args, env);
      expect([code, linesOf(stderr)], args.join(' ')).toEqual([
        2,
        [
          expect.stringMatching(
            /data contains no store; set DATA_DIR to .*`chain-metrics ingest`, `backfill` or `start`$/,
          ),
        ],
      ]);
    }
    expect([existsSync(env.DATA_DIR), existsSync(join(place.path, 'b'))]).toEqual([false, false]);
  });

  it('refuses --chain for refused lines, which tell none', async () => {
    const { code, stderr } = await runHere(['dead-letters', 'list', '--chain', 'kusama'], env);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--chain is for --kind facts')]);
  });

  it('takes in nothing while a path is wrong', async () => {
    mkdirSync(join(place.path, 'empty'));
    writeFileSync(join(place.path, 'polkadot.ndjson'), '');
    const good = join(place.path, 'polkadot.ndjson');
    const packed = join(place.path, 'polkadot.tar.gz');
    writeFileSync(packed, '');
    const answers = await Promise.all([
      run(['ingest', good, '/nowhere.ndjson'], { env }),
      run(['ingest', join(place.path, 'empty'), good], { env }),
      run(['ingest', 'https://archive.example/polkadot.ndjson.gz'], { env }),
      run(['ingest', packed], { env }),
    ]);
    expect(answers.map(({ code }) => code)).toEqual([1, 1, 2, 2]);
    expect(answers.map(({ stderr }) => linesOf(stderr))).toEqual([
      ['chain-metrics: /nowhere.ndjson does not exist; nothing was ingested'],
      [expect.stringMatching(/empty contains no input files: expected .*; nothing was ingested$/)],
      [expect.stringMatching(/gz is a URL, .* pipe it, as in `curl .*`, or list it as an archive/)],
      [expect.stringMatching(/polkadot\.tar\.gz is in an unsupported archive format: unpack it/)],
    ]);
    expect(existsSync(env.DATA_DIR)).toBe(false);
  });
});
