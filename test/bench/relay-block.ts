import { createHash } from 'node:crypto';
import type { RawBlock } from '../../ingest/node/decode/block.ts';
import { bytesOf } from '../../ingest/node/decode/cursor.ts';
import { type NodeRuntime, readRuntime } from '../../ingest/node/decode/runtime.ts';
import { compact } from '../../ingest/node/decode/trie-root.ts';
import { Recording } from '../ingest/node/decode/recorded.ts';
import { Referee } from '../ingest/node/decode/referee.ts';

/** As many as make the bytes of a block of Polkadot: signed bitfields, and candidates that are backed and included. */
const BITFIELDS = 300;
const CANDIDATES = 24;
const VOTES = 5;
const HEAD_BYTES = 200;
const RECORDED = 1_036_820;
const INHERENT = 1;

let made = 0;
/** Bytes like those of a hash or signature. */
function digits(bytes: number): string {
  const hash = () => createHash('sha256').update(String(made++)).digest('hex');
  return `0x${Array.from({ length: Math.ceil(bytes / 32) }, hash)
    .join('')
    .slice(0, bytes * 2)}`;
}

const descriptor = (paraId: number) => ({
  ...{ paraId, relayParent: digits(32), collator: digits(32), persistedValidationDataHash: digits(32) },
  ...{ povHash: digits(32), erasureRoot: digits(32), signature: digits(64), paraHead: digits(32) },
  validationCodeHash: digits(32),
});

const backedCandidate = (paraId: number) => ({
  candidate: {
    descriptor: descriptor(paraId),
    commitments: { headData: digits(HEAD_BYTES), hrmpWatermark: RECORDED },
  },
  validityVotes: Array.from({ length: VOTES }, () => ({ Explicit: digits(64) })),
  validatorIndices: '0xff',
});

const bitfield = (validatorIndex: number) => ({
  ...{ payload: digits(13), validatorIndex, signature: digits(64) },
});

/** A recorded block of a relay chain with as much of parachains in it as a block of a main network has. */
export function relayBlock(): { block: RawBlock; metadata: Buffer; runtime: NodeRuntime; bytes: number } {
  const recording = new Recording('paseo');
  const metadata = recording.metadata();
  const runtime = readRuntime(metadata);
  const { registry } = new Referee(metadata, runtime.ss58Prefix);
  const recorded = recording.block(RECORDED);
  const encode = (pallet: string, part: 'calls' | 'events', name: string, ...values: readonly unknown[]) => {
    const found = runtime.metadata.pallets.find((one) => one.name === pallet);
    const type = runtime.metadata.lookup.find(({ id }) => id === found?.[part]?.type)?.def;
    const variant = type?.tag === 'variant' ? type.value.find((one) => one.name === name) : undefined;
    if (!found || !variant) throw new Error(`no ${pallet}.${name}`);
    const fields = values.map((value, i) =>
      registry.createType(`Lookup${variant.fields[i]?.type}`, value).toU8a(),
    );
    return Buffer.concat([Buffer.of(found.index, variant.index), ...fields]);
  };
  const paras = Array.from({ length: CANDIDATES }, (_, i) => 2000 + i);
  const enter = encode('ParaInherent', 'calls', 'enter', {
    bitfields: Array.from({ length: BITFIELDS }, (_, i) => bitfield(i)),
    backedCandidates: paras.map(backedCandidate),
    disputes: [],
    parentHeader: { parentHash: recorded.header.parentHash },
  });
  const inherent = Buffer.concat([Buffer.of(4), enter]);
  const extrinsics = recorded.extrinsics.map((hex, i) =>
    i === INHERENT ? `0x${Buffer.concat([compact(inherent.length), inherent]).toString('hex')}` : hex,
  );
  const phase = Buffer.of(0, INHERENT, 0, 0, 0);
  const added = ['CandidateBacked', 'CandidateIncluded'].flatMap((name) =>
    paras.map((paraId, i) => {
      const receipt = { descriptor: descriptor(paraId), commitmentsHash: digits(32) };
      const event = encode('ParaInclusion', 'events', name, receipt, digits(HEAD_BYTES), i, i);
      return Buffer.concat([phase, event, Buffer.of(0)]);
    }),
  );
  const events = bytesOf(recorded.events ?? '0x00');
  const recordedCount = (events[0] as number) >> 2;
  if ((events[0] as number) % 4 !== 0)
    throw new Error('more than 63 events, so their number takes more than a byte');
  const list = Buffer.concat([compact(recordedCount + added.length), events.subarray(1), ...added]);
  const block = { ...recorded, extrinsics, events: `0x${list.toString('hex')}` };
  const bytes = extrinsics.reduce((sum, hex) => sum + hex.length / 2 - 1, list.length);
  return { block, metadata, runtime, bytes };
}
