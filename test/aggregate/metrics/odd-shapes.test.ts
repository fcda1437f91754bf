import { afterAll, beforeAll, expect, it } from 'vitest';
import { Random } from '../../../ingest/demo/random.ts';
import { type InputLine, readLines } from '../../reference/input.ts';
import { shapeHash } from '../../reference/shaped.ts';
import { differences } from '../../support/compared.ts';
import { openServed, type Served } from './coretime/served.ts';
import { bounties } from './odd/bounties.ts';
import { contracts } from './odd/contracts.ts';
import { coretime } from './odd/coretime.ts';
import { money } from './odd/money.ts';
import { votes } from './odd/votes.ts';

const FAMILIES: Readonly<Record<string, readonly InputLine[]>> = {
  money,
  votes,
  bounties,
  contracts,
  coretime,
};

/** `ODD=votes,money` runs these families only. */
const { ODD } = process.env;
const chosen = Object.keys(FAMILIES).filter((name) => ODD === undefined || ODD.split(',').includes(name));

let served: Served;
beforeAll(async () => {
  served = await openServed();
});
afterAll(() => served.close());

it(`${chosen.join(', ')} at their edge cases equal the reference, and nothing remains of replaced blocks`, async () => {
  const { before, after } = forked(chosen.map((name) => FAMILIES[name] as readonly InputLine[]));
  await served.ingest(...before);
  await served.ingest(...after);
  expect(await differences(served, readLines([...before, ...after]), new Random(1))).toEqual([]);
}, 600_000);

/**
 * First, at every height, a block that is not finalized and has the content of another height, some of another month;
 * then the finalized blocks, and again some that are not finalized.
 */
function forked(families: readonly (readonly InputLine[])[]) {
  const lines = families.flatMap((family, i) => onHeights(family, (i + 1) * HEIGHTS));
  const isBlock = ({ line }: InputLine) => !line.includes('"snapshot/1"');
  const blocks = lines.filter(isBlock);
  const losing = blocks.map((one, i) => swapped(one, blocks[(i + 7) % blocks.length] as InputLine));
  return {
    before: losing,
    after: [...lines, ...losing.filter((_, i) => i % 3 === 0)],
  };
}

/** The families follow each other in time and therefore in height; coretime has heights above all others. */
const HEIGHTS = 1000;

function onHeights(lines: readonly InputLine[], offset: number): InputLine[] {
  return lines.map((one) => {
    const block = JSON.parse(one.line);
    if (block.number === undefined) return one;
    const number = Number(block.number) + (Number(block.number) < HEIGHTS ? offset : 0);
    const hashes = { hash: shapeHash(number), parentHash: shapeHash(number - 1) };
    return { ...one, line: JSON.stringify({ ...block, number: String(number), ...hashes }) };
  });
}

/** A block at the height of one with the content of another. */
function swapped(one: InputLine, other: InputLine): InputLine {
  const [own, content] = [JSON.parse(one.line), JSON.parse(other.line)];
  const { number, parentHash } = own;
  const hash = shapeHash(Number(number) + 10 ** 9);
  return { ...one, line: JSON.stringify({ ...content, number, parentHash, hash, finalized: false }) };
}
