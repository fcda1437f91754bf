import { expect, it } from 'vitest';
import {
  partsOf,
  readConviction,
  readVote,
  weigh,
} from '../../../../aggregate/metrics/governance/folds/account-vote.ts';

const standard = (vote: unknown, balance: unknown = '7') => ({ standard: { vote, balance } });

it.each([
  ['0x80', true, 0],
  ['0x86', true, 6],
  ['0x00', false, 0],
  ['0x03', false, 3],
  ['131', true, 3],
  [129, true, 1],
  [{ aye: true, conviction: 'Locked1x' }, true, 1],
  [{ aye: false, conviction: { locked5x: null } }, false, 5],
  [{ aye: false, conviction: 'None' }, false, 0],
])('%j says aye %s with conviction %d', (vote, aye, conviction) => {
  expect(readVote(standard(vote))).toEqual({ type: 'Standard', aye, conviction, balance: 7n });
});

it.each([
  [standard('0x07')],
  [standard('0x180')],
  [standard('aye')],
  [standard({ aye: 'true', conviction: 'None' })],
  [standard('0x80', '-1')],
  [standard('0x80', '1.5')],
  [standard('0x80', '1,000')],
  [{ split: { aye: '1' } }],
  [{ splitAbstain: { aye: '1', nay: '1' } }],
  [{ standard: null }],
  [{ delegating: {} }],
  [null],
])('%j is no vote', (vote) => {
  expect(readVote(vote)).toBeNull();
});

it.each([
  ['None', 0],
  ['Locked1x', 1],
  ['locked6x', 6],
  [{ locked4x: null }, 4],
  [{ Locked2x: null }, 2],
  ['Locked7x', null],
  [3, null],
])('conviction %j is %j', (written, conviction) => {
  expect(readConviction(written)).toBe(conviction);
});

it('a lock multiplies the capital, no lock leaves a tenth, rounded down', () => {
  expect([weigh(19n, 0), weigh(9n, 0), weigh(19n, 1), weigh(19n, 6)]).toEqual([1n, 0n, 19n, 114n]);
});

it('a standard vote with 0 tokens has a part, a side of a split vote with 0 tokens has none', () => {
  expect(partsOf({ type: 'Standard', aye: true, conviction: 1, balance: 0n })).toHaveLength(1);
  expect(partsOf({ type: 'SplitAbstain', aye: 0n, nay: 0n, abstain: 0n })).toEqual([]);
});
