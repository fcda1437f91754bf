import { DAY_MS } from '../../infra/days.ts';
import type { Random } from '../../ingest/demo/random.ts';
import type { InputLine } from '../reference/input.ts';
import { shapeHash } from '../reference/shaped.ts';

/** One line on its way in. A tombstone or a snapshot travels in an envelope only. */
export type Delivery = InputLine;
type LogRecord = { readonly at: number; readonly delivery: Delivery };

/**
 * The ways in which lines may arrive: each one to three times, in any order, some after versions of theirs that
 * were different, and blocks among them that a reorganisation takes back. What a reader may conclude in the end is
 * the same for all of them.
 */
export function shuffledDeliveries(random: Random, lines: readonly InputLine[]): Delivery[] {
  const placed: LogRecord[] = [];
  for (const line of lines) {
    const times = Array.from({ length: random.whole(1, 3) }, () => random.fraction());
    for (const at of times) placed.push({ at, delivery: line });
    if (line.chain !== undefined && random.chance(0.05)) placed.push(...blockTakenBack(random, line, lines));
    if (random.chance(0.5)) continue;
    // Earlier than all true ones, or at least than the last of them.
    const before = random.chance(0.7) ? Math.min(...times) : Math.max(...times);
    for (let count = random.whole(1, 3); count > 0; count -= 1) {
      placed.push(earlierVersion(random, line, lines, before));
    }
  }
  return placed.toSorted((a, b) => a.at - b.at).map(({ delivery }) => delivery);
}

/** A list in its order, cut into at most so many pieces. */
export function cut<T>(random: Random, most: number, list: readonly T[]): T[][] {
  const cuts = Array.from({ length: random.whole(0, most - 1) }, () => random.whole(1, list.length - 1));
  const starts = [...new Set([0, ...cuts])].filter((start) => start < list.length).sort((a, b) => a - b);
  return starts.map((start, index) => list.slice(start, starts[index + 1]));
}

/** All lines of a batch in one source, each block in an envelope. */
export function enveloped(batch: readonly Delivery[]): Delivery[] {
  return batch.map(({ line, chain }) =>
    chain === undefined
      ? { line }
      : { line: `{"schema":"block/1","chain":${JSON.stringify(chain)},"payload":${line}}` },
  );
}

/** Whether the blocks of a batch may travel bare, one file a chain, without passing one another. */
export function mayTravelBare(batch: readonly Delivery[]): boolean {
  return batch.every(({ line, chain }) => chain !== undefined || !line.includes('"block/1"'));
}

export function byChain(batch: readonly Delivery[]): Delivery[] {
  return batch.toSorted((a, b) => (a.chain ?? '').localeCompare(b.chain ?? ''));
}

/** A version of a line that does not last: an earlier one, one that never became final, or its tombstone. */
function earlierVersion(
  random: Random,
  { line, chain }: InputLine,
  lines: readonly InputLine[],
  before: number,
): LogRecord {
  const at = random.fraction() * before;
  const document = JSON.parse(line) as Block & Snapshot;
  if (chain === undefined) {
    return {
      at,
      delivery: {
        line: JSON.stringify({ ...document, payload: { ...document.payload, usd: random.fraction() } }),
      },
    };
  }
  if (random.chance(0.15)) {
    return { at, delivery: tombstone(chain, document.number) };
  }
  const changed = changedBlock(random, document, siblings(lines, chain));
  const isProvisional = random.chance(0.3);
  return {
    // What never became final loses even when it comes last.
    at: isProvisional ? random.fraction() : at,
    delivery: { chain, line: JSON.stringify(isProvisional ? { ...changed, finalized: false } : changed) },
  };
}

/** A block at a height that nothing else has, and its tombstone behind it. */
function blockTakenBack(
  random: Random,
  { line, chain }: InputLine,
  lines: readonly InputLine[],
): LogRecord[] {
  if (chain === undefined) return [];
  const number = random.whole(1, 9) * 100_000_000;
  const block = { ...changedBlock(random, JSON.parse(line) as Block, siblings(lines, chain)), number };
  const [first, last] = [random.fraction(), random.fraction()].sort((a, b) => a - b) as [number, number];
  return [
    { at: first, delivery: { chain, line: JSON.stringify(block) } },
    { at: last, delivery: tombstone(chain, number) },
  ];
}

const tombstone = (chain: string, number: string | number): Delivery => ({
  line: JSON.stringify({ schema: 'block/1', chain, is_deleted: 1, payload: { number: String(number) } }),
});

interface Snapshot {
  payload: object;
}
interface Extrinsic {
  method: { pallet: string; method: string };
  args: Record<string, unknown>;
  events: unknown[];
}
interface Block {
  number: string | number;
  hash: string;
  extrinsics: Extrinsic[];
  onInitialize: { events: unknown[] };
}

const siblings = (lines: readonly InputLine[], chain: string) => lines.filter((line) => line.chain === chain);

type Change = (random: Random, block: Block, others: readonly InputLine[]) => Block;

const CHANGES: readonly Change[] = [
  (random, block) => ({ ...block, hash: shapeHash(random.whole(1, 1e9)) }),
  (random, block) => movedBy(block, random.whole(-40, 40) * DAY_MS),
  (random, block) => movedBy(block, random.whole(-90_000, 90_000)),
  (_random, block) => ({ ...block, extrinsics: block.extrinsics.filter((extrinsic) => !isClock(extrinsic)) }),
  (_random, block) => ({ ...block, extrinsics: block.extrinsics.slice(0, -1) }),
  (_random, block) => ({
    ...block,
    extrinsics: block.extrinsics.map((extrinsic) => ({ ...extrinsic, events: [] })),
  }),
  (_random, block) => ({
    ...block,
    onInitialize: { events: [...block.onInitialize.events, ...STRANGE_EVENTS] },
  }),
  // Another block of the chain at this height: everything is different.
  (random, block, others) => ({
    ...(JSON.parse(random.pick(others).line) as Block),
    number: block.number,
  }),
];

/** One change or several; the keys keep their order, so that such a block is read as fast as a true one. */
function changedBlock(random: Random, block: Block, others: readonly InputLine[]): Block {
  let changed = block;
  for (let count = random.whole(1, 3); count > 0; count -= 1) {
    changed = random.pick(CHANGES)(random, changed, others);
  }
  return changed;
}

const isClock = ({ method }: Extrinsic) => method.pallet === 'timestamp' && method.method === 'set';

function movedBy(block: Block, milliseconds: number): Block {
  const extrinsics = block.extrinsics.map((extrinsic) =>
    isClock(extrinsic)
      ? { ...extrinsic, args: { now: String(Number(extrinsic.args.now) + milliseconds) } }
      : extrinsic,
  );
  return { ...block, extrinsics };
}

const event = (pallet: string, method: string, ...data: unknown[]) => ({ method: { pallet, method }, data });
const SOMEBODY = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';
const STRANGE_EVENTS = [
  event('system', 'NewAccount', SOMEBODY),
  event('system', 'KilledAccount', '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3'),
  event('balances', 'Transfer', SOMEBODY, SOMEBODY, 'a lot'),
  event('treasury', 'Deposit', '123456789'),
  event('messageQueue', 'Processed', '0x', {}, {}, false),
];
