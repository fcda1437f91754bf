import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Finding } from '../../../../infra/finding.ts';
import { NodeReplay } from '../../../ingest/node/replay.ts';
import { ReplayedChain } from '../../../ingest/node/replayed-chain.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { runHere } from './run-here.ts';

const chain = new ReplayedChain('coretime-westend');
const place = temporaryDirectory();
let node: NodeReplay;
beforeAll(async () => {
  node = await new NodeReplay(chain).listen();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

async function diagnosed(url = node.url()) {
  const { code, stdout } = await runHere(['doctor', '--json', '--node', url], { DATA_DIR: place.path });
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, findings, of: (check: string) => findings.find((one) => one.check === check) };
}

describe('chain-metrics doctor --node', () => {
  test('says what an archive node can serve', async () => {
    const methods = ['chain_getBlock', 'chain_getBlockHash', 'chain_getFinalizedHead', 'state_getStorage'];
    node.answerInstead = ({ method }) =>
      ({
        rpc_methods: { methods: [...methods, 'archive_v1_body'] },
        system_name: 'Node',
        system_version: '1.2',
      })[method];
    const { code, of } = await diagnosed();
    node.answerInstead = () => undefined;
    expect(code).toBe(0);
    expect(of('chain')).toMatchObject({
      state: 'warning',
      text: expect.stringContaining('runtime coretime-westend'),
    });
    expect(of('methods')).toMatchObject({ state: 'ok', text: 'chain_ and state_ (used), archive_v1_' });
    expect(of('head')?.text).toMatch(/^finalized 63, [\d,]+ s old; best 0 blocks above it$/);
    expect(of('state')).toMatchObject({ state: 'ok', text: 'of every block from 1 on: an archive node' });
    expect(of('speed')?.text).toMatch(
      /^[\d,]+ blocks\/s of \d+ kB, checked and decoded; the last 63 blocks are complete$/,
    );
  });

  test('says what a node can serve that has the newer methods only', async () => {
    node.methods = 'new';
    const { of } = await diagnosed();
    node.methods = 'legacy';
    expect(of('methods')).toMatchObject({ state: 'ok', text: 'archive_v1_, chainHead_v1_ (used)' });
    expect(of('head')?.text).toMatch(/^finalized 63, [\d,]+ s old; best 0 blocks above it$/);
    expect(of('state')).toMatchObject({ state: 'ok', text: 'of every block from 1 on: an archive node' });
    expect(of('speed')?.text).toMatch(/the last 63 blocks are complete$/);
  });

  test('says how far back a pruned node goes, and what it does not give', async () => {
    chain.prunedBelow = 40;
    const { of } = await diagnosed();
    chain.prunedBelow = 0;
    expect(of('methods')).toMatchObject({ state: 'warning', text: 'the node does not list its methods' });
    expect(of('state')).toMatchObject({ state: 'warning', text: 'of the last 24 blocks, from 40 on' });
    expect(of('speed')?.text).toContain('40 blocks failed: 1: ');
  });

  test('says what answers in place of a node', async () => {
    const { code, findings } = await diagnosed('ws://127.0.0.1:9');
    expect(code).toBe(1);
    expect(findings).toMatchObject([{ check: 'node', state: 'failed' }]);
    expect(findings[0]?.remedy).toBe('start the node or correct the URL; a Sidecar is not a node');
  });
});
