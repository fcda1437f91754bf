/**
 * A real runtime in chopsticks, followed while it builds blocks with transfers, remarks and failures: the store must hold
 * what Sidecar serves of the same node.
 *
 *     npx node test/soak/chopsticks.ts [blocks] [specification]        40 by default; minutes
 *
 * The specification is a file with the genesis of a chain as storage, or the address of a node. By default it is that of a
 * test network that npm has. Chopsticks, Sidecar and the specification are installed by npm into a temporary directory.
 */
import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { blocks } from '../../ingest/raw/tables.ts';
import { installPeers, startSidecar } from '../bench/node-peers.ts';
import { contentOf, differences } from '../support/content.ts';
import { ingestAndCompute, openPipelineAt } from '../support/pipeline.ts';
import { freePort } from '../support/services/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { TrueHeaders } from './chopsticks/true-headers.ts';

const CHOPSTICKS = '@acala-network/chopsticks';
const SPECIFICATIONS = '@substrate/connect-known-chains';
const PACKAGES = [`${CHOPSTICKS}@1.5.1`, `${SPECIFICATIONS}@1.10.3`];
const CHAIN = 'soaked';
const START_MS = 120_000;
/** Until what is final is stored. */
const SETTLE_MS = 10_000;

const [count = '40', specification] = process.argv.slice(2);
using place = temporaryDirectory();
const at = (name: string) => join(place.path, name);
const [tools, peers] = [at('tools'), at('peers')];
execFileSync(
  'npm',
  ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', tools, ...PACKAGES],
  {
    stdio: 'ignore',
  },
);
installPeers(peers);

const node = await startChopsticks();
const require = createRequire(join(tools, 'package.json'));
const { ApiPromise, WsProvider } = require('@polkadot/api');
const { Keyring } = require('@polkadot/keyring');
const api = await ApiPromise.create({ provider: new WsProvider(node.url), noInitWarn: true });
const [alice, bob] = ['//Alice', '//Bob'].map((uri) => new Keyring({ type: 'sr25519' }).addFromUri(uri));
await node.headers.send('dev_setStorage', [
  { System: { Account: [[[alice.address], { providers: 1, data: { free: String(10n ** 18n) } }]] } },
]);
const first = Number((await api.rpc.chain.getHeader()).number) + 1;
await node.headers.learn(1, first - 1);

const settings = { DATA_DIR: at('followed'), CHAINS_FILE: at('chains.json') };
const genesis = (await api.rpc.chain.getBlockHash(0)).toHex();
const known = { relay_chain: 'solo', ss58_prefix: 42, token: 'ROC', decimals: 12 };
writeFileSync(settings.CHAINS_FILE, JSON.stringify([{ ...known, name: CHAIN, genesis }]));
const follower = spawn(
  join(import.meta.dirname, '../../serve/chain-metrics'),
  ['follow', '--node', node.headers.url, '--from', String(first), '--poll-ms', '200'],
  { env: { PATH: process.env.PATH, ...settings }, stdio: ['ignore', 'inherit', 'inherit'] },
);
let nonce = 0;
for (let block = 0; block < Number(count); block++) {
  const transfer = api.tx.balances.transferKeepAlive(bob.address, 10n ** 12n);
  const excessive = api.tx.balances.transferKeepAlive(bob.address, 10n ** 30n);
  const remark = api.tx.system.remarkWithEvent(`0x${'ab'.repeat(block)}`);
  const batch = api.tx.utility.batch([transfer, excessive, remark]);
  for (const call of [transfer, excessive, remark, batch])
    await call.signAndSend(alice, { nonce: nonce++, tip: block });
  await node.headers.whileBuilding(async () => {
    await node.headers.send('dev_newBlock', []);
    await node.headers.learn(first + block, first + block);
  });
}
await pause(SETTLE_MS);
follower.kill('SIGTERM');

const sidecar = await startSidecar(peers, node.headers.url, await freePort());
const lines: string[] = [];
for (let height = first; height < first + Number(count); height++)
  lines.push(await (await fetch(`${sidecar.url}/blocks/${height}`)).text());
const expected = await contentAt({ ...settings, DATA_DIR: at('sidecar') }, lines);
const found = differences(await contentAt(settings, []), expected);
const stored = expected.get(blocks.name)?.length ?? 0;
const extrinsics = lines.reduce((sum, line) => sum + JSON.parse(line).extrinsics.length, 0);
console.log(`${stored} blocks with ${extrinsics} extrinsics: ${found.length} differences`);
for (const difference of found) console.log(difference);
process.exit(found.length === 0 && stored === Number(count) ? 0 : 1);

async function contentAt({ DATA_DIR, ...others }: typeof settings, added: readonly string[]) {
  const pipeline = await openPipelineAt(DATA_DIR, undefined, others);
  await ingestAndCompute(
    pipeline,
    added.map((line) => ({ line, chain: CHAIN })),
  );
  const content = await contentOf(pipeline);
  await pipeline.close();
  return content;
}

async function startChopsticks() {
  const port = await freePort();
  const config = { port, host: '127.0.0.1', 'build-block-mode': 'Manual', ...(await sourceOfState()) };
  writeFileSync(at('chopsticks.yml'), JSON.stringify(config));
  const child = spawn(
    process.execPath,
    [join(tools, 'node_modules', CHOPSTICKS, 'chopsticks.cjs'), '--config', at('chopsticks.yml')],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  process.on('exit', () => child.kill());
  const url = `ws://127.0.0.1:${port}`;
  const until = performance.now() + START_MS;
  while (
    !(await fetch(`http://127.0.0.1:${port}`).then(
      () => true,
      () => false,
    ))
  ) {
    if (child.exitCode !== null || performance.now() > until) throw new Error('chopsticks did not start');
    await pause(200);
  }
  return { url, headers: await TrueHeaders.before(url) };
}

async function sourceOfState(): Promise<object> {
  if (specification?.includes('://')) return { endpoint: specification };
  if (specification) return { genesis: specification };
  const { chainSpec } = await import(
    join(tools, 'node_modules', SPECIFICATIONS, 'dist/esm/specs/rococo_v2_2_asset_hub.js')
  );
  writeFileSync(at('genesis.json'), chainSpec);
  return { genesis: at('genesis.json') };
}
