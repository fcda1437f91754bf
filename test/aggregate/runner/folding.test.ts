import { describe, expect, it } from 'vitest';
import { govVoterHistory } from '../../../aggregate/metrics/governance/gov-voter-history.ts';
import { EVERYTHING } from '../../../aggregate/planner/plan.ts';
import { foldLines } from '../../../aggregate/runner/fold-lines.ts';
import { foldInPieces, INLINE_FOLD_BYTES_MAX } from '../../../aggregate/runner/folding.ts';

const WINDOW = { relays: ['polkadot'], ...EVERYTHING };
const VERSION = '7';

/** Votes of as many accounts on one referendum, as the facts of a fold. */
function votes(count: number): Buffer {
  const chain = {
    order: 0,
    kind: 'chain',
    chain: 'polkadot',
    at: -1,
    number: null,
    extrinsic_index: null,
    name: '',
    data: ['DOT', '10', '0', 'relay'],
    actor: '',
    refused: false,
  };
  const vote = (index: number) => ({
    order: index,
    kind: 'call',
    chain: 'polkadot',
    at: 1_700_000_000_000,
    number: index,
    extrinsic_index: 1,
    name: 'convictionVoting.vote',
    data: ['{"poll_index":"5","vote":{"Standard":{"vote":"0x81","balance":"10"}}}'],
    actor: `0x${index.toString(16).padStart(64, '0')}`,
    refused: false,
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
});

it('folds of few facts give rows with the version and no tombstone', async () => {
  const [lines = ''] = await piecesOf(votes(1));
  expect(JSON.parse(lines)).toMatchObject({ referendum_index: 5, version: VERSION, is_deleted: 0 });
});
