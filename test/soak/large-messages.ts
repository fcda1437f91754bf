import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { sql } from '../../infra/sql.ts';
import { TOPICS } from '../../ingest/log/topics.ts';
import { blocks } from '../../ingest/raw/tables.ts';
import { type RoleProcess, startRole } from '../distributed/roles.ts';
import { FakeSidecar, recordedBlocks } from '../ingest/sources/fake-sidecar.ts';
import { joinPipeline } from '../support/distributed.ts';
import { startServices } from '../support/services/index.ts';

// `BLOCKS=60 npx node test/soak/large-messages.ts`: the memory of a process of each role while blocks of 4 to 8 MiB
// pass through them. `ingest` follows a source of such blocks, another producer writes more of them to the topic.
const BLOCKS = Number(process.env.BLOCKS ?? 40);
const FOLLOWED = 16;
const MIB = 2 ** 20;
const MOST_MIB = 512;

const [template = ''] = recordedBlocks('polkadot').values();
/** Of text that hardly packs: an account's remark of many bytes. */
const block = (number: number, mebibytes: number) => {
  const document = JSON.parse(template);
  document.number = String(number);
  document.hash = `0x${number.toString(16).padStart(64, '0')}`;
  document.extrinsics.push({
    ...document.extrinsics[0],
    method: { pallet: 'system', method: 'remark' },
    args: { remark: `0x${randomBytes((mebibytes * MIB) / 2).toString('hex')}` },
    events: [],
  });
  return JSON.stringify(document);
};
const sizeOf = (i: number) => 4 + ((i * 7) % 35) / 10;

await using source = await new FakeSidecar(
  Array.from({ length: FOLLOWED }, (_, i) => block(1000 + i, sizeOf(i))),
).listen();
await using services = await startServices();
const environment = services.environment({
  FOLLOW: `polkadot=${source.url}`,
  FOLLOW_SNAPSHOTS: 'false',
});
source.finalized = 1000;
const roles = new Map<string, RoleProcess>();
for (const role of ['ingest', 'load', 'work', 'serve']) roles.set(role, await startRole(role, environment));
const producer = await joinPipeline(environment, 'ingest');

const most = new Map<string, number[]>();
const mebibytesOf = ({ child }: RoleProcess) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
let half = 0;
const watch = setInterval(() => {
  for (const [name, role] of roles) {
    const seen = most.get(name) ?? [0, 0];
    seen[half] = Math.max(seen[half] as number, mebibytesOf(role));
    most.set(name, seen);
  }
}, 50);

source.finalized = 1000 + FOLLOWED - 1;
for (let i = 0; i < BLOCKS; i++) {
  if (i >= BLOCKS / 2) half = 1;
  const payload = JSON.parse(block(5000 + i, sizeOf(i)));
  const value = Buffer.from(JSON.stringify({ schema: 'block/1', chain: 'kusama', payload }));
  await producer.runtime.log.publish(TOPICS.blocks, [{ key: `polkadot/kusama/${i}`, value }]);
}
const stored = async () =>
  (await producer.runtime.store.rows<{ n: number }>(sql`SELECT count() AS n FROM ${blocks} FINAL`))[0]?.n ??
  0;
while ((await stored()) < BLOCKS + FOLLOWED) await new Promise((later) => setTimeout(later, 500));
await producer.waitUntilComputed();
clearInterval(watch);

let isFlat = true;
for (const [name, [first = 0, second = 0]] of most) {
  isFlat &&= Math.max(first, second) < MOST_MIB;
  process.stdout.write(
    `${name}: most ${first.toFixed(0)} MiB in the first half, ${second.toFixed(0)} in the second\n`,
  );
}
for (const role of roles.values()) await role.kill();
await producer.close();
process.stdout.write(isFlat ? 'bounded\n' : `more than ${MOST_MIB} MiB\n`);
process.exit(isFlat ? 0 : 1);
