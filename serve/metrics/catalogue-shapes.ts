import { z } from 'zod';
import { METRIC_DOMAINS, type MetricDomain } from '../../aggregate/metric.ts';
import { PENDING_REASONS } from '../../aggregate/runner/pending.ts';
import { MERGES, UNITS } from '../../aggregate/units.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';

/** Response schemas of the endpoints about the data, for the OpenAPI document. */

const missing = (point: z.ZodType) =>
  z.object({
    total: z.int(),
    ranges_total: z.int().describe('number of ranges; the first 1,000 are listed'),
    ranges: z.array(z.object({ from: point, to: point })),
  });

const moment = z.iso.datetime();

const catalogueField = z.object({
  name: z.string(),
  title: z.string().describe('heading of the column on pages'),
  meaning: z.string(),
  nullable: z.boolean(),
  unit: z
    .enum(UNITS)
    .nullable()
    .describe(
      'unit of the number: `native` = tokens of the chain; `planck` = smallest unit of the token; `ratio` = a fraction, 0.6 is 60 %; `percent` = hundredths, 60 is 60 %; `height` = block number; `identifier` = a number that identifies something; `number` = see the title; null if it is not a number',
    ),
  over_time: z
    .enum(MERGES)
    .describe(
      'how daily values are combined into a week or a month; none for distinct counts, which cannot be combined',
    ),
  over_chains: z.enum(MERGES).describe('how the values of chains are combined'),
  drawn: z.boolean().describe('true if it can be charted over days or months'),
});

export const catalogueEntry = z
  .object({
    path: z.string(),
    record: z.string(),
    title: z.string(),
    domain: z.enum(Object.keys(METRIC_DOMAINS) as MetricDomain[]).describe('subject of the metric'),
    definition: z.string(),
    kept: z.enum(['daily', 'monthly', 'whole', 'onRead']),
    relay_chains: z.array(z.enum(RELAY_CHAINS)),
    served_from: z.iso.date().optional().describe('earliest day that is served'),
    order: z.array(z.string()),
    parameters: z.array(z.object({ name: z.string(), required: z.boolean(), meaning: z.string() })),
    fields: z.array(catalogueField),
  })
  .meta({ id: 'CatalogueEntry' });

const heights = {
  relay_chain: z.string(),
  chain: z.string(),
  lowest_block: z.int(),
  highest_block: z.int(),
  untimed_blocks: z.int().describe('blocks without a timestamp: stored, but not in any metric'),
  missing_blocks: missing(z.int()),
};

export const statusSchema = z
  .object({
    demo_data: z
      .boolean()
      .describe('true if the stored data are demo data; each response then has `X-Demo-Data: true`'),
    chains: z.array(
      z.object({
        ...heights,
        blocks: z.int(),
        inconsistent_blocks: z
          .int()
          .describe(
            'blocks with extrinsics that end with no outcome event, or with several: their success is unknown',
          ),
        outdated_blocks: z.int().describe('blocks that another decoder version loaded: ingest them again'),
        newest_block_at: moment.nullable(),
        lag_seconds: z.number().nullable(),
        skipped_heights: z.int().describe('missing heights that the source did not serve'),
      }),
    ),
    dead_letters: z.object({
      total: z.int(),
      latest: z.array(
        z.object({ received_at: z.string(), file: z.string(), line: z.int(), reason: z.string() }),
      ),
    }),
    refused_facts: z.int(),
    unknown_wrappers: z
      .object({
        calls: z.int(),
        wrappers: z.array(
          z.object({ relay_chain: z.string(), chain: z.string(), wrapper: z.string(), calls: z.int() }),
        ),
      })
      .describe(
        'calls nested in wrappers that the decoder does not know. They may have run or not, so no metric counts them. Lists the 20 wrappers with the most calls',
      ),
    outdated_snapshots: z
      .int()
      .describe('snapshots and prices that another decoder version loaded: ingest them again'),
    retention: z.object({
      blocks_from: z.iso
        .date()
        .nullable()
        .describe('first day whose blocks are accepted; earlier ones are refused. null if none are refused'),
      raw_rows_from: z.iso
        .date()
        .nullable()
        .describe('raw rows of earlier days are deleted, their metrics stay; null if none are deleted'),
    }),
    metrics: z.array(
      z.object({
        metric: z.string(),
        version: z.string(),
        computed_at: moment.nullable(),
        windows: z.int(),
        pending_from: z.iso
          .date()
          .nullable()
          .describe('earliest loaded day that the rows do not include yet; null if they include all'),
        pending_reason: z
          .enum(PENDING_REASONS)
          .nullable()
          .describe('why the rows do not include these days yet'),
        failures: z
          .array(
            z.object({
              metric: z.string(),
              relay_chains: z.array(z.string()),
              from_day: z.string(),
              until_day: z.string(),
              reason: z.string(),
              failed_since: moment,
              tried_at: moment,
              attempts: z.int(),
              next_attempt_at: moment
                .nullable()
                .describe('null if retries are exhausted: run `chain-metrics rebuild METRIC`'),
            }),
          )
          .describe('failures of this metric and of the metrics that it reads'),
      }),
    ),
    computing: z.object({
      held: z.boolean().describe('true while a bulk load runs; its days are computed afterwards'),
      touched_days_waiting: z.int(),
      jobs_waiting: z.int(),
      windows_done: z.int(),
      windows_total: z.int(),
      failed: z.array(z.object({ id: z.string(), reason: z.string(), attempts: z.int() })),
    }),
  })
  .meta({ id: 'SystemStatus' });

export const coverageSchema = z
  .object({
    ...heights,
    first_day: z.iso.date().nullable(),
    last_day: z.iso.date().nullable(),
    missing_days: missing(z.iso.date()).describe('days without a stored block, unless the chain had none'),
    days_without_price: missing(z.iso.date()).extend({ token: z.string() }),
    skipped_heights: z
      .object({
        total: z.int(),
        heights: z.array(
          z.object({
            number: z.int(),
            first_tried_at: moment,
            last_tried_at: moment,
            tries: z.int(),
          }),
        ),
      })
      .describe('missing heights that the source did not serve; they are retried. Lists the first 1,000'),
  })
  .meta({ id: 'ChainCoverage' });

const blocks = {
  relay_chain: 'polkadot',
  chain: 'polkadot',
  lowest_block: 26_900_000,
  highest_block: 26_914_399,
  untimed_blocks: 0,
  missing_blocks: { total: 2, ranges_total: 1, ranges: [{ from: 26_900_120, to: 26_900_121 }] },
};

export const STATUS_EXAMPLE: z.output<typeof statusSchema> = {
  demo_data: false,
  chains: [
    {
      ...blocks,
      blocks: 14_398,
      newest_block_at: '2025-07-14T23:59:54.000Z',
      lag_seconds: 12,
      skipped_heights: 1,
      inconsistent_blocks: 0,
      outdated_blocks: 0,
    },
  ],
  dead_letters: { total: 0, latest: [] },
  refused_facts: 0,
  unknown_wrappers: {
    calls: 2,
    wrappers: [{ relay_chain: 'kusama', chain: 'kusama', wrapper: 'council.propose', calls: 2 }],
  },
  outdated_snapshots: 0,
  retention: { blocks_from: null, raw_rows_from: null },
  metrics: [
    {
      metric: 'daily_tps',
      version: '1752537600000000',
      computed_at: '2025-07-15T00:00:02.000Z',
      windows: 1,
      pending_from: null,
      pending_reason: null,
      failures: [],
    },
  ],
  computing: {
    held: false,
    touched_days_waiting: 0,
    jobs_waiting: 0,
    windows_done: 0,
    windows_total: 0,
    failed: [],
  },
};

export const COVERAGE_EXAMPLE: z.output<typeof coverageSchema> = {
  ...blocks,
  first_day: '2025-07-14',
  last_day: '2025-07-14',
  missing_days: { total: 0, ranges_total: 0, ranges: [] },
  days_without_price: {
    token: 'DOT',
    total: 1,
    ranges_total: 1,
    ranges: [{ from: '2025-07-14', to: '2025-07-14' }],
  },
  skipped_heights: {
    total: 1,
    heights: [
      {
        number: 26_900_120,
        first_tried_at: '2025-07-14T12:00:00.000Z',
        last_tried_at: '2025-07-14T12:03:00.000Z',
        tries: 3,
      },
    ],
  },
};
