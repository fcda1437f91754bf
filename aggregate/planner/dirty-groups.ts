/** A day of a chain whose raw data changed in `stream`; `pallet` narrows the change to the facts of one pallet. */
export interface DirtyDay {
  readonly stream: string;
  readonly pallet: string;
  readonly relay_chain: string;
  readonly chain: string;
  readonly day: string;
  /** The hours of the day that changed, 0 to 23; absent where the whole day may have. */
  readonly hours?: readonly number[];
  /** Of a day that has lost blocks: the pallets whose facts can have gone; absent where any can. */
  readonly pallets?: readonly string[];
}

/** Dirty days that invalidate the same metrics: a history has many, of many chains each. */
export interface DirtyGroup {
  readonly first: DirtyDay;
  readonly all: readonly DirtyDay[];
  /** One of the chains of each day, and of the same hours. */
  readonly ofAnyChain: readonly DirtyDay[];
}

export const groupsOf = (dirty: readonly DirtyDay[]): DirtyGroup[] =>
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
