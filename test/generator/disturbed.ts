import { Random } from '../../ingest/demo/random.ts';
import type { InputLine } from '../reference/input.ts';
import { shapeHash } from '../reference/shaped.ts';

const DAY_MS = 86_400_000;

/** What happens to lines on their way: they come twice, late, out of order, in versions, or not at all. */
export function disturbed(lines: readonly InputLine[], seed: number): InputLine[] {
  const random = new Random(seed);
  const kept = lines.filter(({ line }) => !isBlock(line) || !random.chance(0.02));
  const several = kept.flatMap((one) => {
    if (random.chance(0.06)) return [one, one];
    if (!isBlock(one.line)) return [one];
    if (random.chance(0.06)) return [forkOf(one, random), one];
    return random.chance(0.06) ? withLost(one, random) : [one];
  });
  const reach = random.pick([60, 60, 60, several.length]);
  const moved = several.map((one, index) => ({
    one,
    place: index + (random.chance(0.1) ? random.whole(-reach, reach) : 0),
  }));
  return moved.toSorted((a, b) => a.place - b.place).map(({ one }) => one);
}

const isBlock = (line: string) => line.includes('"block/1"');

/** Another block of the same height, without its last extrinsic; one that is not final may be of another day. */
function forkOf({ line }: InputLine, random: Random): InputLine {
  const document = JSON.parse(line);
  const { payload } = document;
  const isFinal = random.chance(0.3);
  const shift = !isFinal && random.chance(0.5) ? DAY_MS : 0;
  const extrinsics: { args: { now?: string } }[] = payload.extrinsics
    .filter((_: unknown, index: number, all: readonly unknown[]) => index === 0 || index < all.length - 1)
    .map((extrinsic: { args: { now?: string } }) =>
      extrinsic.args.now === undefined
        ? extrinsic
        : { ...extrinsic, args: { now: String(Number(extrinsic.args.now) - shift) } },
    );
  const hash = shapeHash(random.whole(10 ** 6, 10 ** 9));
  return {
    line: JSON.stringify({ ...document, payload: { ...payload, hash, finalized: isFinal, extrinsics } }),
  };
}

/** A source that lost the events of a block answers too: before another one, after it, or alone. */
function withLost(one: InputLine, random: Random): readonly InputLine[] {
  const lost = lostOf(one, random);
  return random.pick([[lost, one], [one, lost], [lost, one, lost], [lost]]);
}

/** The same block without what it needs to be taken in. */
function lostOf({ line }: InputLine, random: Random): InputLine {
  const document = JSON.parse(line);
  const { payload } = document;
  const extrinsics: readonly object[] = payload.extrinsics;
  const emptied = extrinsics.map((extrinsic) => ({ ...extrinsic, events: [] }));
  const untold = 'Unable to fetch Events, cannot confirm extrinsic status.';
  const one = random.whole(0, extrinsics.length - 1);
  const kept = random.pick([
    [],
    emptied,
    emptied.map((extrinsic) => ({ ...extrinsic, success: untold })),
    extrinsics.map((extrinsic, index) => (index === one ? { ...extrinsic, success: untold } : extrinsic)),
  ]);
  return {
    line: JSON.stringify({
      ...document,
      payload: { ...payload, finalized: random.chance(0.8), extrinsics: kept },
    }),
  };
}
