import { Worker } from 'node:worker_threads';
import { describe, expect, it, vi } from 'vitest';
import { govVoterHistory } from '../../../aggregate/metrics/governance/gov-voter-history.ts';
import { voteStep } from '../../../aggregate/metrics/governance/vote-step.ts';
import { foldLines } from '../../../aggregate/runner/fold-lines.ts';
import { foldInPieces, INLINE_FOLD_BYTES_MAX } from '../../../aggregate/runner/folding.ts';

const NOTHING = Buffer.alloc(0);
/** The input of a fold over rows of which none is stored, unless told. */
const inputOf = (facts: Buffer, stored = NOTHING, writesEqualRows = false) => ({
  relay: 'polkadot',
  version: '7',
  facts,
  stored,
  writesEqualRows,
});

/** Votes of as many accounts on one referendum, as the facts of a fold. */
function votes(count: number): Buffer {
  const chain = { kind: 'chain', chain: 'polkadot', name: '', data: ['DOT', '10', '0'] };
  const vote = (index: number) => ({
    kind: 'Standard',
    chain: 'polkadot',
    at: 1_700_000_000_000,
    after_blocks: 0,
    number: index,
    place: 2,
    position: 0,
    entity: 5,
    account: `0x${index.toString(16).padStart(64, '0')}`,
    conviction: 1,
    balance: '10',
    is_aye: true,
  });
  const facts = [chain, ...Array.from({ length: count }, (_, index) => vote(index + 1))];
  return Buffer.from(facts.map((fact) => `${JSON.stringify(fact)}\n`).join(''));
}

async function piecesOf(facts: Buffer): Promise<string[]> {
  const pieces: string[] = [];
  for await (const lines of foldInPieces(govVoterHistory, inputOf(facts))) pieces.push(lines);
  return pieces;
}

const MANY = votes(25_000);

describe('folds of many facts', () => {
  it('run in a worker thread', async () => {
    expect(MANY.length).toBeGreaterThan(INLINE_FOLD_BYTES_MAX);
    let turns = 0;
    const clock = setInterval(() => turns++, 1);
    await piecesOf(MANY);
    clearInterval(clock);
    expect(turns).toBeGreaterThan(10);
  });

  it('give the same rows as in this thread, in pieces', async () => {
    const pieces = await piecesOf(MANY);
    expect(pieces).toHaveLength(3);
    expect(pieces).toEqual([...foldLines(govVoterHistory, inputOf(MANY))]);
  });

  it('give each fold its own rows when several run at once', async () => {
    const fewer = votes(15_000);
    const [many, few] = await Promise.all([piecesOf(MANY), piecesOf(fewer)]);
    expect(many.join('').split('\n')).toHaveLength(25_001);
    expect(few.join('').split('\n')).toHaveLength(15_001);
  });

  it('report why they fail, and the worker runs the next fold', async () => {
    const broken = Buffer.concat([MANY, Buffer.from('{"kind":\n')]);
    await expect(piecesOf(broken)).rejects.toThrow(/JSON/);
    expect(await piecesOf(MANY)).toHaveLength(3);
  });

  it('fail with a worker that ends meanwhile, and the next fold gets another one', async () => {
    const ending = vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker) {
      void this.terminate();
    });
    await expect(piecesOf(MANY)).rejects.toThrow('ended');
    ending.mockRestore();
    expect(await piecesOf(MANY)).toHaveLength(3);
  });
});

describe('a fold over stored rows', () => {
  const fact = (index: number) => ({
    ...HEAD,
    number: index,
    data: [String(index), '{"ayes":"1","nays":"0","support":"1"}'],
  });
  const HEAD = {
    order: 0,
    kind: 'event',
    chain: 'polkadot',
    at: 1_700_000_000_000,
    extrinsic_index: null,
    place: 0,
    name: 'referenda.Confirmed',
    actor: '',
    refused: false,
  };
  const linesOf = (rows: readonly object[]) =>
    Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const fold = (facts: readonly object[], stored: readonly object[], writesEqualRows = false) =>
    [...foldLines(voteStep, inputOf(linesOf(facts), linesOf(stored), writesEqualRows))].flatMap((piece) =>
      piece
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    );
  const storedRows = fold([fact(1), fact(2)], []);

  it('writes rows that differ, and tombstones of those that it does not give any more', () => {
    expect(storedRows.map(({ entity, is_deleted }) => [entity, is_deleted])).toEqual([
      [1, 0],
      [2, 0],
    ]);
    expect(fold([fact(2), fact(1)], storedRows)).toEqual([]);
    expect(
      fold([fact(2), fact(3)], storedRows).map(({ entity, is_deleted }) => [entity, is_deleted]),
    ).toEqual([
      [3, 0],
      [1, 1],
    ]);
  });

  it('writes a row of the same key above the tombstone of the former one', () => {
    const former = { ...storedRows[0], digest: '1' };
    expect(
      fold([fact(1)], [former]).map(({ number, version, is_deleted }) => [number, version, is_deleted]),
    ).toEqual([
      [1, '8', 0],
      [1, '7', 1],
    ]);
  });

  it('writes equal rows too where late ones may arrive', () => {
    expect(fold([fact(2), fact(1)], storedRows, true)).toHaveLength(2);
  });
});

it('folds of few facts give rows and no tombstone', async () => {
  const [lines = ''] = await piecesOf(votes(1));
  expect(JSON.parse(lines)).toMatchObject({ referendum_index: 5, version: '8', is_deleted: 0 });
});
