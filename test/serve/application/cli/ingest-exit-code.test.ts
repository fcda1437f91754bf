import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import type { RunReport } from '../../../../serve/application/cli/ingest-inputs.ts';
import { LocalClient } from '../../../../serve/application/operations/client.ts';
import { openTestPipeline } from '../../../support/pipeline.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { linesOf } from './program.ts';
import { runHere } from './run-here.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const env = { DATA_DIR: join(place.path, 'data') };
const SAMPLE = new URL('../../../../ingest/sample/kusama.ndjson.gz', import.meta.url);
const kusama = linesOf(gunzipSync(readFileSync(SAMPLE)).toString('utf8'));

/** A block whose only fault is a tip that is no number. */
function withRefusedFact(line: string, version: string): string {
  const payload = JSON.parse(line);
  payload.extrinsics[0].tip = 'a few';
  return JSON.stringify({ schema: 'block/1', chain: 'kusama', version, payload });
}

async function ingest(name: string, lines: readonly string[]) {
  const path = join(place.path, name);
  writeFileSync(path, `${lines.join('\n')}\n`);
  const { code, stdout } = await runHere(['ingest', '--json', '--chain', 'kusama', path], env);
  const { refused_facts } = JSON.parse(stdout) as RunReport;
  return { code, refused_facts };
}

it('a clean file reports no refused fact and ends with 0, whatever was refused before', async () => {
  // An odd version sets the bit of the rank that stands right above the sequence.
  const refused = [withRefusedFact(kusama[0] as string, '1'), withRefusedFact(kusama[1] as string, '2')];
  expect(await ingest('refused.ndjson', refused)).toEqual({ code: 3, refused_facts: 2 });
  // What is stored already is told as well, where a source repeats it.
  expect(await ingest('refused.ndjson', refused)).toEqual({ code: 3, refused_facts: 2 });
  expect(await ingest('clean-1.ndjson', [kusama[2] as string])).toEqual({ code: 0, refused_facts: 0 });
  expect(await ingest('clean-2.ndjson', [kusama[3] as string])).toEqual({ code: 0, refused_facts: 0 });
});

it('lists refused facts with their chain, height, place and reason', async () => {
  const { code, stdout } = await runHere(['dead-letters', 'list', '--kind', 'facts'], env);
  expect(code).toBe(0);
  const height = JSON.parse(kusama[0] as string).number;
  expect(stdout).toMatch(
    new RegExp(`^kusama +${height} +extrinsic 0 tip +not an unsigned integer +a few$`, 'm'),
  );
  expect(stdout).toMatch(/^2 of 2 refused facts$/m);
  const one = await runHere(['dead-letters', 'list', '--kind', 'facts', '--limit', '1', '--json'], env);
  expect(JSON.parse(one.stdout)).toMatchObject({
    total: 2,
    facts: [{ chain: 'kusama', reason: 'not an unsigned integer' }],
  });
  expect((await runHere(['dead-letters', 'list'], env)).stdout).toContain('dead-letters list --kind facts');
});

it('says how many kinds of reasons it does not name', async () => {
  const path = join(place.path, 'kinds.ndjson');
  const lines = Array.from({ length: 30 }, (_, i) => JSON.stringify({ schema: `block/${i + 2}` }));
  writeFileSync(path, `${[...lines, ...lines].join('\n')}\n`);
  const { code, stdout } = await runHere(['ingest', path], env);
  expect(code).toBe(3);
  expect(stdout).toMatch(/60 lines were refused/);
  expect(stdout).toMatch(/^ {2}and 10 more kinds, 20 lines\nsee `chain-metrics dead-letters list`$/m);
});

it('counts only what its own run was refused, whatever other sources load meanwhile', async () => {
  const opened = await openTestPipeline();
  try {
    const client = new LocalClient(opened.pipeline);
    const slow = new PassThrough();
    const source = { name: 'source', chain: 'kusama' };
    const first = client.call('ingest', source, { body: slow });
    slow.write(`${kusama[2]}\n`);
    const refused = `${withRefusedFact(kusama[0] as string, '1')}\nnot JSON\n`;
    const second = await client.call('ingest', source, { body: Readable.from([Buffer.from(refused)]) });
    expect(second).toMatchObject({ blocks: 1, refused_lines: 1, refused_facts: 1 });
    slow.end(`${kusama[3]}\n`);
    expect(await first).toMatchObject({ blocks: 2, refused_lines: 0, refused_facts: 0, reasons: [] });
  } finally {
    await opened.close();
  }
});
