import { LOAD_GROUP, TOPICS } from './log/topics.ts';
import { decoders, recordDecoders } from './raw/decoders.ts';
import { forgetAfterDamage } from './raw/loaded-blocks.ts';
import { rawRetention } from './raw/retention.ts';
import { skippedSnapshots } from './raw/skipped-snapshots.ts';
import { rawTables } from './raw/tables.ts';
import { unknownWrappers } from './raw/unknown-wrappers.ts';
import { blockLandingTables, blockViews } from './raw/views/blocks.ts';
import { snapshotsIn, snapshotViews } from './raw/views/snapshots.ts';
import { ingestSettings } from './settings.ts';

/** The tables, views, settings and topics of this area. */
export const ingestModule = {
  settings: ingestSettings,
  tables: [...rawTables, skippedSnapshots, unknownWrappers, rawRetention, decoders],
  landingTables: [...blockLandingTables, snapshotsIn],
  /** Views that turn rows of the landing tables into rows of the raw tables. */
  views: [...blockViews, ...snapshotViews],
  recordDecoders,
  forgetAfterDamage,
  consumed: Object.values(TOPICS).map((topic) => ({ topic, group: LOAD_GROUP, isStored: false })),
};
