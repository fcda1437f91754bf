import { retentionDays } from '../infra/config/kinds.ts';
import { sourceSettings } from './sources/settings.ts';

/** Days for which late blocks are taken: `RETENTION_RAW_DAYS` refuses older ones, so that an outage of a month loses none. */
const RAW_DAYS_MIN = 31;

/** Settings of the sources, of loading and of dead letters. */
export const ingestSettings = {
  ...sourceSettings,
  RETENTION_RAW_DAYS: retentionDays(RAW_DAYS_MIN).describe(
    `delete raw extrinsics, events and calls after this many days (whole months at a time, at least ${RAW_DAYS_MIN}), except rows that some metrics need for ever; later blocks of those months are refused; 0 keeps everything`,
  ),
  RETENTION_DEAD_LETTERS_DAYS: retentionDays(1).describe(
    'delete dead letters this many whole days after they were last refused; 0 keeps all',
  ),
};
