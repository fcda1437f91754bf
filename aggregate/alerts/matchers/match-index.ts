import { EventLoopYielder } from '../../../infra/event-loop-yielder.ts';
import type { Matcher, MatchLabels } from './matcher.ts';
import { compileMatchers, isIndexed } from './matcher-list.ts';

interface Entry<T> {
  readonly item: T;
  readonly matches: (labels: MatchLabels) => boolean;
}

/** An index of matcher lists by the label of an equality matcher. Lists without such a matcher are scanned. */
export class MatchIndex<T> {
  readonly #byLabel = new Map<string, Entry<T>[]>();
  readonly #others: Entry<T>[] = [];

  constructor(items: readonly { readonly matchers: readonly Matcher[]; readonly item: T }[]) {
    const keys = items.map(({ matchers }) => matchers.filter(isIndexed).map(keyOf));
    const uses = new Map<string, number>();
    for (const key of keys.flat()) uses.set(key, (uses.get(key) ?? 0) + 1);
    const usesOf = (key: string) => uses.get(key) ?? 0;
    for (const [i, { matchers, item }] of items.entries()) {
      const entry = { item, matches: compileMatchers(matchers) };
      const rarest = keys[i]?.reduce<string | null>(
        (best, key) => (best === null || usesOf(key) < usesOf(best) ? key : best),
        null,
      );
      if (rarest == null) this.#others.push(entry);
      else {
        const entries = this.#byLabel.get(rarest);
        if (entries === undefined) this.#byLabel.set(rarest, [entry]);
        else entries.push(entry);
      }
    }
  }

  /** In no particular order. Yields to other work at least every 10 ms. */
  async matching(labels: MatchLabels): Promise<readonly T[]> {
    const found: T[] = [];
    const turn = new EventLoopYielder();
    for (const { item, matches } of this.#candidates(labels)) {
      await turn.yieldIfDue();
      if (matches(labels)) found.push(item);
    }
    return found;
  }

  *#candidates({ values }: MatchLabels): Generator<Entry<T>> {
    for (const [name, value] of values) yield* this.#byLabel.get(keyOf({ name, value })) ?? [];
    yield* this.#others;
  }
}

const keyOf = ({ name, value }: { readonly name: string; readonly value: string }): string =>
  `${name}\0${value}`;
