/** A day of a chain whose raw data changed in `stream`; `pallet` narrows the change to the facts of one pallet. */
export interface DirtyDay {
  readonly stream: string;
  readonly pallet: string;
  readonly relay_chain: string;
  readonly chain: string;
  readonly day: string;
  /** The hours that changed, 0 to 23; absent if the whole day may have changed. */
  readonly hours?: readonly number[];
  /** For a day that lost blocks, the pallets that may have lost facts; absent if any pallet may have. */
  readonly pallets?: readonly string[];
}

/** Dirty days that invalidate the same metrics. Grouping them keeps plans of a long history fast. */
export interface DirtyGroup {
  readonly first: DirtyDay;
  readonly all: readonly DirtyDay[];
  /** One dirty day for each day and set of hours, of any chain. */
  readonly ofAnyChain: readonly DirtyDay[];
}

export const groupDirtyDays = (dirty: readonly DirtyDay[]): DirtyGroup[] =>
  [
    ...Map.groupBy(
      dirty,
      ({ stream, pallet, pallets }) => `${stream} ${pallet} ${pallets?.join() ?? '-'}`,
    ).values(),
  ].map((all) => ({
    first: all[0] as DirtyDay,
    all,
    ofAnyChain: [...new Map(all.map((one) => [`${one.day} ${one.hours?.join() ?? '-'}`, one])).values()],
  }));
