/** Chains with series of their own; all other chains share one series. */
export const LABELLED_CHAINS_MAX = 200;

export interface LabelledChain {
  readonly relay_chain: string;
  readonly chain: string;
}

/** Labels of the shared series. */
export const OTHER_CHAINS: LabelledChain = { relay_chain: 'other', chain: 'other' };

/** Returns a value for each of the first chains by name, and one value for all chains above the limit. */
export function labelChains<Row extends LabelledChain>(
  rows: readonly Row[],
  read: (row: Row) => number,
  together: (values: readonly number[]) => number,
): { readonly labels: { relay_chain: string; chain: string }; readonly value: number }[] {
  const nameOf = ({ relay_chain, chain }: Row) => `${relay_chain}/${chain}`;
  const sorted = [...rows].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  const own = sorted.slice(0, LABELLED_CHAINS_MAX);
  const labelled = own.map((row) => ({
    labels: { relay_chain: row.relay_chain, chain: row.chain },
    value: read(row),
  }));
  const others = sorted.slice(LABELLED_CHAINS_MAX).map(read);
  return others.length === 0
    ? labelled
    : [...labelled, { labels: { ...OTHER_CHAINS }, value: together(others) }];
}
