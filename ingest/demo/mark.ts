import { z } from 'zod';
import { meta, readMeta } from '../../infra/clickhouse/schema.ts';
import { ProductError } from '../../infra/errors.ts';
import type { Store } from '../../infra/ports.ts';

/** That a store holds demo data: it is kept with the data, so that no later start can take them for measured ones. */
export interface DemoMark {
  readonly first_day: string;
  /** Until when everything is loaded; null while the first load has not ended. */
  readonly loaded_until: string | null;
}

const NAME = 'demo_data';
const shape = z.object({ first_day: z.iso.date(), loaded_until: z.iso.datetime().nullable() });

/** The mark of a store; null where nothing was made up. */
export async function readDemoMark(store: Pick<Store, 'rows'>): Promise<DemoMark | null> {
  const text = (await readMeta(store)).get(NAME);
  return text === undefined ? null : shape.parse(JSON.parse(text));
}

export const writeDemoMark = (store: Pick<Store, 'insert'>, mark: DemoMark): Promise<void> =>
  store.insert(meta, [{ name: NAME, value: JSON.stringify(mark) }]);

/** What is said where measured blocks, or values, are to be loaded beside made-up ones. */
export const demoRefusal = (location: string): ProductError =>
  new ProductError(
    'usage',
    `${location} holds demo data, which are made up and never mixed with measured ones; set DATA_DIR to another directory`,
  );
