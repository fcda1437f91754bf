import { jsonLines } from '../../infra/clickhouse/settings.ts';
import type { Store } from '../../infra/ports.ts';

/** Counts the statements that go to a store. `tell` gets the text or the table of each. */
export function countStatements(store: Store, tell?: (statement: string) => void): { stop: () => number } {
  const { run, rows, bytes, insert, insertLines } = store;
  let statements = 0;
  const counted =
    <Given extends unknown[], Answer>(ask: (...given: Given) => Answer) =>
    (...given: Given) => {
      statements++;
      const [about] = given as unknown as [string | { readonly text?: string; readonly name?: string }];
      tell?.(typeof about === 'string' ? about : (about.text ?? about.name ?? ''));
      return ask.apply(store, given);
    };
  Object.assign(store, {
    run: counted(run),
    rows: counted(rows),
    bytes: counted(bytes),
    insertLines: counted(insertLines),
    // Stores insert rows as lines, and only some of them by their own method.
    insert: async (...[table, given]: Parameters<Store['insert']>) => {
      if (given[0] !== undefined) await store.insertLines(table, Object.keys(given[0]), jsonLines(given));
    },
  });
  return {
    stop: () => {
      Object.assign(store, { run, rows, bytes, insert, insertLines });
      return statements;
    },
  };
}
