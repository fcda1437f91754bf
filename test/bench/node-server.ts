/** The node for `node.ts`, in a process of its own: recorded blocks again and again, as one chain with true headers. */
import { writeFileSync } from 'node:fs';
import type { RecordedChain } from '../ingest/node/decode/recorded.ts';
import { NodeReplay } from '../ingest/node/replay.ts';
import { ReplayedChain } from '../ingest/node/replayed-chain.ts';

/** What Sidecar asks besides blocks and state. */
const OF_SIDECAR = /^(system_|rpc_methods$|state_subscribeRuntimeVersion$)/;

class ServedChain extends ReplayedChain {
  override answer(method: string, params: readonly unknown[]): unknown {
    if (OF_SIDECAR.test(method)) return this.first.recording.answer(method, ...params);
    return super.answer(method, params);
  }
}

const [name = '', repeats, file = ''] = process.argv.slice(2);
const chain = new ServedChain(...Array.from({ length: Number(repeats) }, () => name as RecordedChain));
writeFileSync(file, chain.blocks.map(({ line }) => `${line}\n`).join(''));
const replay = await new NodeReplay(chain).listen();
process.on('disconnect', () => process.exit());
setInterval(() => replay.requests.splice(0), 1000);
process.send?.({
  ...{ ws: replay.url('ws'), http: replay.url('http') },
  ...{ from: chain.first.number, to: chain.best },
});
