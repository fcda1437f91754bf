/**
 * The state of an asset hub of main network size from a made node in another process: sums over all ledgers, who
 * delegates among all votes, and all codes and contracts. Time of the clock, and the memory of this process.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Chain } from '../../ingest/chains/chain.ts';
import { loadRegistry } from '../../ingest/chains/registry.ts';
import type { SnapshotKind } from '../../ingest/decode/snapshot.ts';
import { NodeRpc } from '../../ingest/node/rpc.ts';
import { stateNode } from '../../ingest/node/state/state-node.ts';
import { takeState } from '../../ingest/node/state/take-state.ts';
import { documentsOf } from '../ingest/node/state/made-chains.ts';
import { report } from './measure.ts';

const [LEDGERS, VOTES, CODES] = [30_000, 50_000, 5000];
const [GOAL_SECONDS, GOAL_MB] = [60, 300];
const KINDS: SnapshotKind[] = ['staking_state', 'delegations', 'contract_code'];

const server = fork(join(import.meta.dirname, 'state-server.ts'), [LEDGERS, VOTES, CODES].map(String));
const [{ url, hash }] = (await once(server, 'message')) as [{ url: string; hash: string }];
const rpc = new NodeRpc(url, { attempts: 3, backoffMs: 100, timeoutMs: 30_000, answerBytes: 64 * 2 ** 20 });
const registry = loadRegistry();
const subject = { chain: registry.find('asset-hub-kusama') as Chain, registry, treasury: [] };
const moment = { height: 9, hash, time: Date.parse('2026-11-21T23:59:54Z') };
const started = performance.now();
const { lines, skipped } = await takeState(
  stateNode({ rpc, block: () => Promise.reject(new Error('no blocks are read')) }),
  moment,
  subject,
  KINDS,
);
const seconds = (performance.now() - started) / 1000;
if (skipped.length > 0) throw new Error(JSON.stringify(skipped));
const payloads = Object.fromEntries(documentsOf(lines).map(({ kind, payload }) => [kind, payload]));
const found = [
  payloads.staking_state.addresses_staking,
  payloads.delegations.delegations.length,
  payloads.contract_code.code.length,
];
if (String(found) !== String([LEDGERS, VOTES / 2, CODES])) throw new Error(`found ${found}`);
const megabytes = Math.round(process.resourceUsage().maxRSS / 1000);
const { user, system } = process.cpuUsage();
server.kill();
report([
  {
    work: `state of ${LEDGERS} ledgers, ${VOTES} votes, ${CODES} codes and as many contracts`,
    peer: '',
    figure: `${seconds.toFixed(1)} s, ${megabytes} MB`,
    goal: `<= ${GOAL_SECONDS} s, <= ${GOAL_MB} MB`,
    met: seconds <= GOAL_SECONDS && megabytes <= GOAL_MB,
    details: [`processor time of all that, the start included: ${((user + system) / 1e6).toFixed(1)} s`],
  },
]);
process.exit();
