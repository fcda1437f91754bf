import { ALICE, feePaid, Rule, remark, SUMMARY } from './rule.ts';

// Blocks whose events were lost, wholly or in part.

const told = (num_extrinsics: number, num_extrinsic_success: number, num_extrinsic_failed: number) => ({
  num_extrinsics,
  num_extrinsic_success,
  num_extrinsic_failed,
});
const success = ['system.ExtrinsicSuccess', {}] as const;
const failure = ['system.ExtrinsicFailed', { other: null }, {}] as const;
const lost = remark({ outcome: false });
const LOST = 'Unable to fetch Events, cannot confirm extrinsic status. Check pruning settings on the node.';

const chain = new Rule('polkadot', { number: 2000, day: '2024-04-01' });

chain
  .extrinsics(lost)
  .day('none of a transaction', SUMMARY, { ...told(2, 1, 0), num_remarked: 0 })
  .extrinsics(remark({ events: [success, success] }))
  .day('two of one', SUMMARY, { ...told(2, 1, 0), num_events: 3, num_remarked: 0 })
  .extrinsics(remark({ events: [success, failure], success: false }))
  .day('two that disagree', SUMMARY, told(2, 1, 0))
  .extrinsics(remark({ success: false, events: [success] }))
  .day('one that disagrees with success', SUMMARY, { ...told(2, 2, 0), num_remarked: 0 })
  .extrinsics(remark({ success: true, events: [failure] }))
  .day('one that disagrees the other way', SUMMARY, { ...told(2, 1, 1), num_remarked: 1 })
  .block({ opening: [success, failure] })
  .day('outside of extrinsics', SUMMARY, { ...told(1, 1, 0), num_events: 3 })
  .extrinsics(remark({ outcome: false, events: [feePaid('5')] }))
  .day('the fee of an extrinsic without an outcome counts', 'daily-fees', {
    total_fees_planck: '5',
    fee_unknown: 0,
  });

// What is refused leaves what was stored before, and a good version of its height comes after it.
chain
  .extrinsics(remark())
  .version({ hash: `0x${'aa'.repeat(32)}`, extrinsics: [remark({ success: LOST })] })
  .refuses('events missing')
  .day('a later version with a text in success', SUMMARY, { ...told(2, 2, 0), num_remarked: 1 })
  .block({ finalized: false, extrinsics: [remark(), remark()] })
  .version({ finalized: true, extrinsics: [remark({ success: 'true' })] })
  .refuses('events missing')
  .day('a final version with a text in success', SUMMARY, { ...told(3, 3, 0), num_remarked: 2 })
  .block({ time: undefined, extrinsics: [lost, lost] })
  .refuses('events missing')
  .version({ extrinsics: [remark()] })
  .day('a good version after one without any outcome', SUMMARY, { ...told(2, 2, 0), num_remarked: 1 });
for (const payload of [
  { number: '2500', hash: '0xaa', extrinsics: [] },
  {
    number: '2501',
    hash: '0xab',
    onInitialize: { events: [{ method: { pallet: 'system', method: 'Remarked' }, data: [ALICE, '0x'] }] },
    extrinsics: [],
  },
]) {
  const block = { parentHash: '0x', onInitialize: { events: [] }, onFinalize: { events: [] }, ...payload };
  chain.lines.push({ line: JSON.stringify(block), chain: 'polkadot' });
  chain.refuses('extrinsics missing');
}

// The first two blocks say of which chain they are.
const A = `0x${'f0'.repeat(32)}`;
const B = `0x${'0f'.repeat(32)}`;
const POLKADOT = '0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3';
const MOONRIVER = '0x401a1f9dca3da46f5c4091016c8a2f26dcea05865116b286f60f668207d1474b';
const firstBlock = (hash: string) => ({
  time: undefined,
  hash,
  parentHash: `0x${'00'.repeat(32)}`,
  extrinsics: [],
});

const unknown = new Rule('polymesh', { number: -1, day: '2024-04-01' });
unknown
  .block(firstBlock(POLKADOT))
  .refuses('another genesis')
  .block({ parentHash: A })
  .day('what was stored first decides', SUMMARY, { num_blocks: 1, first_block: 1, num_extrinsics: 1 })
  .version({ parentHash: B, extrinsics: [remark()] })
  .refuses('another genesis');
const before = new Rule('polymesh', { number: -1, day: '2024-04-02' });
before
  .block(firstBlock(B))
  .refuses('another genesis')
  .version(firstBlock(A.toUpperCase().replace('X', 'x')));
before.rows(
  'of block 1 and block 0 alike, in any case',
  'explorer/network-stats?chain=polymesh',
  { chain: 'polymesh' },
  [{ latest_block: 2 }],
);
const later = new Rule('polymesh', { number: 1, day: '2024-04-03' });
later
  .block({ parentHash: B })
  .day('higher blocks are not judged', SUMMARY, { num_blocks: 1, first_block: 2 });

const known = new Rule('moonriver', { number: -1, day: '2024-04-01' });
known
  .block(firstBlock(A))
  .refuses('another genesis')
  .block({ parentHash: POLKADOT })
  .refuses('another genesis')
  .version({ parentHash: MOONRIVER.toUpperCase().replace('X', 'x') })
  .day('that of the registry alone is the right one', SUMMARY, { num_blocks: 1, first_block: 1 });

export const outcomeRules = [chain, unknown, before, later, known];
