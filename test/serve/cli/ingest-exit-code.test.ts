import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import type { RunReport } from '../../../serve/cli/ingest-inputs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { linesOf, run } from './program.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const env = { DATA_DIR: join(place.path, 'data') };
const SAMPLE = new URL('../../../ingest/sample/kusama.ndjson.gz', import.meta.url);
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
  const { code, stdout } = await run(['ingest', '--json', '--chain', 'kusama', path], { env });
  const { refused_facts } = JSON.parse(stdout) as RunReport;
  return { code, refused_facts };
}

it('a clean file reports no refused fact and ends with 0, whatever was refused before', async () => {
  // An odd version sets the bit of the rank that stands right above the sequence.
  const refused = [withRefusedFact(kusama[0] as string, '1'), withRefusedFact(kusama[1] as string, '2')];
  expect(await ingest('refused.ndjson', refused)).toEqual({ code: 3, refused_facts: 2 });
  expect(await ingest('clean-1.ndjson', [kusama[2] as string])).toEqual({ code: 0, refused_facts: 0 });
  expect(await ingest('clean-2.ndjson', [kusama[3] as string])).toEqual({ code: 0, refused_facts: 0 });
});
