/**
 * Writes to a bucket through a filter that checks signatures and sums with the code of AWS for Python, with a good
 * secret and with a wrong one: `npx node test/soak/s3-signatures.ts`.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startFauxqs } from 'fauxqs';
import { openTarget } from '../../serve/raw-export/open-target.ts';
import { canInstall, keptPython } from '../support/python.ts';

const NAME = 'botocore';
const PLACE = "s3://lake/raw/(main)*net'!";
const PATH = 'events/chain=asset-hub-polkadot/date=2026-01-31/part-0.parquet';
const [KEY, SECRET] = ['exporter', 'a secret of somebody'];

if (!canInstall(NAME, ['botocore==1.43.11'])) process.exit(1);
const store = await startFauxqs({ port: 0, logger: false });
store.createBucket('lake');
const program = join(import.meta.dirname, 's3-signatures.py');
const filter = spawn(keptPython(NAME), [program, `127.0.0.1:${store.port}`, KEY, SECRET], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const said = createInterface({ input: filter.stdout });
const counts = new Map<string, number>();
const port = await new Promise((resolve) => said.once('line', resolve));
said.on('line', (line) => counts.set(line, (counts.get(line) ?? 0) + 1));

async function writeAll(): Promise<void> {
  const target = await openTarget(PLACE);
  try {
    await target.write('_manifest/chain=polkadot/2026-01.json', '{"größe":1}');
    const content = Buffer.from('not really Parquet');
    const path = target.temporaryFile();
    writeFileSync(path, content);
    const sha256 = createHash('sha256').update(content).digest('hex');
    const tag = await target.put({ path, bytes: content.length, sha256 }, PATH);
    if ((await target.tags('events/')).get(PATH) !== tag) throw new Error('the list has another tag');
    if (!(await target.read(PATH))?.equals(content)) throw new Error('other bytes are read');
    await target.remove(PATH);
    if ((await target.read(PATH)) !== null) throw new Error('it is still there');
  } finally {
    await target.close();
  }
}

try {
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: KEY,
    AWS_SECRET_ACCESS_KEY: SECRET,
  });
  await writeAll();
  process.env.AWS_SECRET_ACCESS_KEY = `${SECRET}x`;
  const refusal = await writeAll().then(() => 'nothing', String);
  process.stdout.write(`${JSON.stringify(Object.fromEntries(counts))}\nwith another secret: ${refusal}\n`);
  const faults = [...counts.keys()].filter((line) => !line.endsWith('let through'));
  if (faults.join() !== 'GET SignatureDoesNotMatch' || !refusal.includes('SignatureDoesNotMatch'))
    process.exitCode = 1;
} finally {
  filter.kill();
  await store.stop();
}
