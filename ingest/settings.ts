import { retentionDays } from '../infra/config/setting-types.ts';
import { sourceSettings } from './sources/settings.ts';

/** Minimum of RETENTION_RAW_DAYS: it refuses older blocks, and an outage of a month must lose none. */
const RAW_DAYS_MIN = 31;

/** Settings of the sources, of loading and of dead letters. */
export const ingestSettings = {
  ...sourceSettings,
  RETENTION_RAW_DAYS: retentionDays(RAW_DAYS_MIN).describe(
    `delete raw extrinsics, events and calls after this many days (in whole months, at least ${RAW_DAYS_MIN}), except rows that metrics always need; blocks of deleted months are refused; 0 keeps everything`,
  ),
  RETENTION_DEAD_LETTERS_DAYS: retentionDays(1).describe(
    'delete dead letters this many whole days after their last refusal; 0 keeps everything',
  ),
};
