import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { UNITS } from '../../../aggregate/units.ts';
import { clampDay } from '../../../infra/clickhouse/date-range.ts';
import { PUBLIC_CACHE_CONTROL } from '../../http/caching.ts';
import { invalidParameter } from '../../http/errors.ts';
import type { Readers } from '../../http/readers.ts';
import { callerResponses, problemResponse, validationResponse } from '../../http/responses.ts';
import { route } from '../../http/route.ts';
import { date, requireDateOrder } from '../../metrics/parameters.ts';
import { RESPONSE_FORMATS } from '../../metrics/response-formats.ts';
import { PERIODS, SERIES_MAX } from '../model/chart-state.ts';
import { addDays } from '../model/periods.ts';
import { LINE_CHARS_MAX, type Line, lineOf } from './chart-metrics.ts';
import { DAYS_MAX, type SeriesReader } from './series.ts';

const DAYS_USUAL = 90;

const query = z.strictObject({
  series: z
    .preprocess(
      (value) => (value === undefined || Array.isArray(value) ? value : [value]),
      z.array(z.string().max(LINE_CHARS_MAX)).min(1).max(SERIES_MAX),
    )
    .meta({
      description:
        'id of a series, as `METRIC.COLUMN@RELAY/CHAIN`: the path of a metric without `/api/`, one of its columns, and a chain. If a metric has several rows for a chain and month, append the values of the columns that distinguish them, as in `monthly-gov-tokens.capital@polkadot/polkadot:direct/aye`. Repeatable',
      example: ['daily-tps.transactions_per_second@polkadot/polkadot'],
    }),
  start_date: date.optional().describe(`first day; default: ${DAYS_USUAL} days before the last one`),
  end_date: date.optional().describe('last day, inclusive; default: today'),
  per: z
    .enum(PERIODS)
    .optional()
    .describe('period of a value; default: `day`, always `month` for a monthly metric'),
  format: z
    .enum(Object.keys(RESPONSE_FORMATS) as [string, ...string[]])
    .optional()
    .describe('`json` returns columns; every other format a file with one row per value'),
});

const answer = z
  .object({
    per: z.enum(PERIODS),
    start: z.iso.date().describe('first day of the first period; weeks begin on Monday'),
    periods: z.int().describe('number of consecutive periods'),
    provisional_from: z.iso.date().nullable().describe('first period that is not over'),
    series: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        relay_chain: z.string(),
        chain: z.string(),
        parts: z
          .array(z.string())
          .describe('labels that distinguish several series of one chain; empty if there is one'),
        unit: z.enum(UNITS),
        token: z.string().nullable().describe('symbol of the native token, if that is the unit'),
        values: z
          .array(z.number().nullable())
          .describe(
            'one value per period: sum, mean, last, highest or lowest of its days, depending on the column',
          ),
        gaps: z
          .array(z.array(z.int()).length(2))
          .describe('index of the first and of the last period of a range in which blocks are missing'),
      }),
    ),
  })
  .meta({ id: 'Series' });

/** Serves series of charts in columnar form. */
export function serveSeries(
  app: FastifyInstance,
  { readers, series }: { readonly readers: Readers; readonly series: SeriesReader },
): void {
  route(
    app,
    {
      method: 'GET',
      path: '/api/series',
      tag: 'About the data',
      summary: 'Series of charts: metrics by day, week or month, as columns',
      query,
      responses: {
        200: {
          description: 'The series, over the same periods',
          content: { 'application/json': { schema: answer, example: EXAMPLE }, ...FILES },
        },
        ...callerResponses,
        422: validationResponse,
        503: problemResponse('The server is busy'),
      },
    },
    async ({
      query: { series: ids, start_date, end_date, per = 'day', format = 'json' },
      request,
      reply,
    }) => {
      const { from, until } = rangeOf(start_date, end_date, series.today);
      const lines = ids.map(requireLine);
      const reader = await readers.open(request, reply);
      if (format !== 'json') {
        const { type, format: engineFormat } = RESPONSE_FORMATS[format] as (typeof RESPONSE_FORMATS)[string];
        const file = await series.file(reader.store(), lines, per, {
          days: { from, until },
          format: engineFormat,
        });
        return reply
          .type(type)
          .header('content-disposition', `attachment; filename="chain-metrics-${from}-${until}.${format}"`)
          .send(file);
      }
      const body = await series.read(reader.store(), lines, per, { from, until });
      return reply
        .type('application/json; charset=utf-8')
        .headers({ 'cache-control': PUBLIC_CACHE_CONTROL, vary: 'accept-encoding' })
        .send(JSON.stringify(body));
    },
  );
}

/** The range of a request. Without an end date, a range that is too long is cut to its newest days. */
function rangeOf(start: string | undefined, end: string | undefined, today: string) {
  requireDateOrder(start, end);
  const given = start === undefined ? undefined : clampDay(start);
  const until = clampDay(end ?? (given !== undefined && given > today ? given : today));
  const first = addDays(until, 1 - DAYS_MAX);
  const from = given ?? clampDay(addDays(until, 1 - DAYS_USUAL));
  if (from >= first) return { from, until };
  if (end === undefined) return { from: first, until };
  throw invalidParameter('start_date', `more than ${DAYS_MAX} days before end_date`, from);
}

function requireLine(id: string): Line {
  const line = lineOf(id);
  if (typeof line === 'string') throw invalidParameter('series', line, id);
  return line;
}

const binary = { schema: z.string().meta({ format: 'binary' }) };
const FILES = {
  'text/csv': {
    schema: z.string(),
    example:
      '"date","metric","column","title","relay_chain","chain","part","unit","value"\n"2025-07-12","daily-tps","num_transactions_combined","Transactions","polkadot","polkadot","","count",25013\n',
  },
  'application/x-ndjson': {
    schema: z.string(),
    example:
      '{"date":"2025-07-12","metric":"daily-tps","column":"num_transactions_combined","title":"Transactions","relay_chain":"polkadot","chain":"polkadot","part":"","unit":"count","value":25013}\n',
  },
  'application/vnd.apache.parquet': binary,
  'application/vnd.apache.arrow.stream': binary,
};

const EXAMPLE: z.output<typeof answer> = {
  per: 'day',
  start: '2025-07-12',
  periods: 3,
  provisional_from: '2025-07-14',
  series: [
    {
      id: 'daily-tps.num_transactions_combined@polkadot/polkadot',
      title: 'Transactions',
      relay_chain: 'polkadot',
      chain: 'polkadot',
      parts: [],
      unit: 'count',
      token: null,
      values: [25_013, null, 11_840],
      gaps: [[1, 1]],
    },
  ],
};
