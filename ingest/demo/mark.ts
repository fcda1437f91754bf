import { z } from 'zod';
import { meta, readMeta } from '../../infra/clickhouse/schema.ts';
import { ProductError } from '../../infra/errors.ts';
import type { Store } from '../../infra/ports.ts';

/** Marks a store that holds demo data. Stored with the data, so that no later start mixes it with real data. */
export interface DemoMark {
  readonly first_day: string;
  /** End of the loaded time; null until the first load ends. */
  readonly loaded_until: string | null;
}

const NAME = 'demo_data';
const shape = z.object({ first_day: z.iso.date(), loaded_until: z.iso.datetime().nullable() });

/** The mark of a store; null if it holds no demo data. */
export async function readDemoMark(store: Pick<Store, 'rows'>): Promise<DemoMark | null> {
  const text = (await readMeta(store)).get(NAME);
  return text === undefined ? null : shape.parse(JSON.parse(text));
}

export const writeDemoMark = (store: Pick<Store, 'insert'>, mark: DemoMark): Promise<void> =>
  store.insert(meta, [{ name: NAME, value: JSON.stringify(mark) }]);

/** The error for loading real data into a store with demo data. */
export const demoRefusal = (location: string): ProductError =>
  new ProductError(
    'usage',
    `${location} holds demo data, which cannot be mixed with real data: set DATA_DIR to another directory`,
  );
