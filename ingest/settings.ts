import type { z } from 'zod';
import { retentionDays } from '../infra/config/kinds.ts';
import { sourceBounds, sourceSettings } from './sources/settings.ts';

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

/** Bounds that operators have no reason to turn. */
export const ingestBounds = {
  ...sourceBounds,
  /** Bytes of a refused line that are stored with its reason. */
  DEAD_LETTER_BYTES_MAX: 64 * 1024,
};

export type IngestSettings = z.output<z.ZodObject<typeof ingestSettings>> & typeof ingestBounds;
