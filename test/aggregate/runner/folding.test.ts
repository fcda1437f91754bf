import { Worker } from 'node:worker_threads';
import { describe, expect, it, vi } from 'vitest';
import { coretimeAccountSpend } from '../../../aggregate/metrics/coretime/coretime-account-spend.ts';
import { govVoterHistory } from '../../../aggregate/metrics/governance/gov-voter-history.ts';
import { voteStep } from '../../../aggregate/metrics/governance/vote-step.ts';
import { EVERYTHING } from '../../../aggregate/planner/plan.ts';
import { factsByRelay, factsOfKinds, foldLines } from '../../../aggregate/runner/fold-lines.ts';
import { foldInPieces, INLINE_FOLD_BYTES_MAX } from '../../../aggregate/runner/folding.ts';
import { SharedFacts } from '../../../aggregate/runner/shared-facts.ts';

const WINDOW = { relays: ['polkadot'], ...EVERYTHING };
const VERSION = '7';

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
  for await (const lines of foldInPieces(govVoterHistory, WINDOW, VERSION, facts)) pieces.push(lines);
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
    expect(pieces).toEqual([...foldLines(govVoterHistory, WINDOW, VERSION, MANY)]);
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

describe('a fold of several relay chains', () => {
  const sold = (relay_chain: string, begin: number, price: number) =>
    `${JSON.stringify({
      relay_chain,
      kind: 'Purchased',
      chain: `coretime-${relay_chain}`,
      prefix: 0,
      decimals: 10,
      time: '2026-03-04 12:00:00.000',
      number: begin,
      event_index: 0,
      extrinsic_index: 1,
      data: [
        `0x${'01'.repeat(32)}`,
        `{"begin":${begin},"core":1,"mask":"0x${'ff'.repeat(10)}"}`,
        String(price),
        '100',
      ],
    })}\n`;
  const facts = Buffer.from([sold('kusama', 1, 5), sold('kusama', 2, 7), sold('polkadot', 1, 11)].join(''));

  it('folds the facts of each of them apart', () => {
    const window = { relays: ['kusama', 'polkadot', 'solo'], ...EVERYTHING };
    const rows = [...foldLines(coretimeAccountSpend, window, VERSION, facts)].flatMap((piece) =>
      piece
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    );
    expect(rows.map(({ relay_chain, total_spend_planck }) => [relay_chain, total_spend_planck])).toEqual([
      ['kusama', '12'],
      ['polkadot', '11'],
    ]);
  });

  it('knows the facts of each by their beginning', () => {
    expect([...factsByRelay(facts).keys()]).toEqual(['kusama', 'polkadot']);
    expect(Buffer.concat([...factsByRelay(facts).values()])).toEqual(facts);
    expect(() => factsByRelay(Buffer.from('{"kind":"Purchased"}\n'))).toThrow('no relay chain');
  });

  it('has those of its kinds alone', () => {
    const renewed = Buffer.from(facts.toString().replaceAll('Purchased', 'Renewed'));
    const all = Buffer.concat([facts, renewed, facts]);
    expect(factsOfKinds(all, ['Renewed', 'timeslice'])).toEqual(renewed);
    expect(factsOfKinds(all, ['Renewed', 'Purchased'])).toEqual(all);
    expect(() => factsOfKinds(Buffer.from('{"relay_chain":"polkadot"}\n'), [])).toThrow('no kind');
  });
});

describe('folds with the same facts', () => {
  const read = (text: string) => {
    const reads = { count: 0 };
    const facts = async () => {
      reads.count++;
      return Buffer.from(text);
    };
    return { reads, facts };
  };

  it('read them once a round, also one after the other', async () => {
    const { reads, facts } = read('a');
    const shared = new SharedFacts();
    shared.begin(['one', 'one', 'one']);
    await Promise.all([shared.read('one', facts), shared.read('one', facts)]);
    expect((await shared.read('one', facts)).toString()).toBe('a');
    expect(reads.count).toBe(1);
    await shared.read('one', facts);
    expect(reads.count).toBe(2);
  });

  it('read them again in the next round', async () => {
    const { reads, facts } = read('a');
    const shared = new SharedFacts();
    shared.begin(['one', 'one']);
    await shared.read('one', facts);
    shared.begin(['one']);
    await shared.read('one', facts);
    expect(reads.count).toBe(2);
  });

  it('read more than is kept each for itself', async () => {
    const { reads, facts } = read('four');
    const shared = new SharedFacts(4);
    shared.begin(['one', 'one', 'other', 'other']);
    await shared.read('one', facts);
    await shared.read('other', facts);
    await shared.read('other', facts);
    expect(reads.count).toBe(3);
    await shared.read('one', facts);
    expect(reads.count).toBe(3);
  });

  it('do not fail with the one that reads them first', async () => {
    const { facts } = read('a');
    const shared = new SharedFacts();
    shared.begin(['one', 'one']);
    await expect(shared.read('one', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect((await shared.read('one', facts)).toString()).toBe('a');
  });
});

describe('a fold that keeps equal rows', () => {
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
  const fold = (facts: readonly object[], stored: readonly object[], areKept = true) =>
    [...foldLines(voteStep, WINDOW, VERSION, linesOf(facts), { rows: linesOf(stored), areKept })].flatMap(
      (piece) =>
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

  it('writes all rows when it is repeated', () => {
    expect(fold([fact(2), fact(1)], storedRows, false)).toHaveLength(2);
  });
});

it('folds of few facts give rows with the version and no tombstone', async () => {
  const [lines = ''] = await piecesOf(votes(1));
  expect(JSON.parse(lines)).toMatchObject({ referendum_index: 5, version: VERSION, is_deleted: 0 });
});
