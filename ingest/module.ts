import type { NamedTable } from '../infra/clickhouse/sql.ts';
import type { Store } from '../infra/ports.ts';
import { LOAD_GROUP, TOPICS } from './log/topics.ts';
import { decoders, recordDecoders } from './raw/decoders.ts';
import { forgetAfterDamage } from './raw/loaded-blocks.ts';
import { noteAllReplacedBlocks } from './raw/replaced-hours.ts';
import { rawRetention } from './raw/retention.ts';
import { blocks, rawTables } from './raw/tables.ts';
import { blockLandingTables, blockViews } from './raw/views/blocks.ts';
import { snapshotsIn, snapshotViews } from './raw/views/snapshots.ts';
import { ingestSettings } from './settings.ts';

/** What this area brings to the product. */
export const ingestModule = {
  settings: ingestSettings,
  tables: [...rawTables, rawRetention, decoders],
  landingTables: [...blockLandingTables, snapshotsIn],
  /** Views that turn rows of the landing tables into rows of the raw tables. */
  views: [...blockViews, ...snapshotViews],
  recordDecoders,
  forgetAfterDamage,
  /** Versions of blocks that only a table of one partition shows as replaced are noted before it is none any more. */
  beforePartitions: async (store: Store, { name }: NamedTable) => {
    if (name === blocks.name) await noteAllReplacedBlocks(store);
  },
  consumed: Object.values(TOPICS).map((topic) => ({ topic, group: LOAD_GROUP })),
};
