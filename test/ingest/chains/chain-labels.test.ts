import { expect, test } from 'vitest';
import { LABELLED_CHAINS_MAX, labelChains } from '../../../ingest/chains/chain-labels.ts';

const chains = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    relay_chain: 'solo',
    chain: `chain-${String(count - i).padStart(4, '0')}`,
    heights: count - i,
  }));
const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);

test('every chain has labels of its own, by name, as long as there are not too many', () => {
  const labelled = labelChains(chains(LABELLED_CHAINS_MAX), ({ heights }) => heights, sum);
  expect(labelled).toHaveLength(LABELLED_CHAINS_MAX);
  expect(labelled[0]).toEqual({ labels: { relay_chain: 'solo', chain: 'chain-0001' }, value: 1 });
});

test('the chains that are too many share one series', () => {
  const labelled = labelChains(chains(LABELLED_CHAINS_MAX + 2), ({ heights }) => heights, sum);
  expect(labelled).toHaveLength(LABELLED_CHAINS_MAX + 1);
  expect(labelled.at(-1)).toEqual({
    labels: { relay_chain: 'other', chain: 'other' },
    value: 2 * LABELLED_CHAINS_MAX + 3,
  });
});
