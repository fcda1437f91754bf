import { z } from 'zod';
import type { Metric, MetricEndpoint, Relay } from '../../aggregate/metric.ts';
import { blockDays } from '../../aggregate/metrics/index.ts';
import { clampDay, FIRST_DAY, LAST_DAY } from '../../infra/clickhouse/date-range.ts';
import { ProductError } from '../../infra/errors.ts';
import { didYouMean } from '../../infra/nearest-name.ts';
import type { Format, Store } from '../../infra/ports.ts';
import { type Sql, sql } from '../../infra/sql.ts';
import { ECOSYSTEM } from '../../ingest/chains/ecosystem.ts';
import { namesOf, type Registry } from '../../ingest/chains/registry.ts';
import { allRowsStatement } from './answers.ts';
import { findEndpoint } from './metric-names.ts';
import type { Query } from './parameters.ts';
import { RESPONSE_FORMATS } from './response-formats.ts';

/** An export: a metric by any of its names, the format and the rows. Both days are inclusive. */
export const exportRequest = z.object({
  metric: z.string(),
  format: z.string(),
  relay_chain: z.string().optional(),
  chain: z.string().optional(),
  from: z.iso.date().optional(),
  until: z.iso.date().optional(),
});
type ExportRequest = z.output<typeof exportRequest>;

interface ExportStatement {
  readonly statement: Sql;
  readonly format: Format;
  readonly floor: string | undefined;
  readonly metric: Metric;
  readonly query: Query;
}

/** The statement of an export: all rows of the path. The path serves none before `floor`. */
export function exportStatement(request: ExportRequest, registry: Registry, today: string): ExportStatement {
  const { metric, endpoint } = findEndpoint(request.metric);
  const format = RESPONSE_FORMATS[request.format]?.format;
  if (format === undefined) {
    throw usage(`unknown format ${request.format}; use one of ${Object.keys(RESPONSE_FORMATS).join(', ')}`);
  }
  if (metric.materialized === false && request.chain === undefined) {
    throw usage(`${request.metric} needs --chain: it is computed on request, one chain at a time`);
  }
  const query: Query = {
    ...chainsOf(request, endpoint, registry),
    ...daysOf(request, endpoint),
    conditions: [],
    order: undefined,
    changedSince: undefined,
    limit: undefined,
    cursor: undefined,
    format: request.format,
    bom: false,
    today,
  };
  const statement = allRowsStatement(metric, endpoint, query, format);
  return { statement, format, floor: endpoint.dates?.floor, metric, query };
}

/** Returns true if the store has blocks from before `floor`; the export has no rows of these days. */
export async function hasDaysBefore(
  store: Pick<Store, 'rows'>,
  floor: string,
  { relay_chain, chain }: Query,
): Promise<boolean> {
  const ofRelay = relay_chain === undefined ? sql`1` : sql`relay_chain = ${relay_chain}`;
  const isOfChain =
    chain === undefined || chain === ECOSYSTEM ? ofRelay : sql`${ofRelay} AND chain = ${chain}`;
  const days = await store.rows(
    sql`SELECT date FROM ${blockDays} FINAL WHERE ${isOfChain} AND date < ${floor} LIMIT 1`,
  );
  return days.length > 0;
}

/** The chains of the export. Rejects an unknown name, because the file would be empty. */
function chainsOf(
  { metric, relay_chain, chain: name }: ExportRequest,
  endpoint: MetricEndpoint,
  registry: Registry,
) {
  if (relay_chain !== undefined && !endpoint.relays.includes(relay_chain as Relay)) {
    throw usage(`--relay-chain ${relay_chain}: ${metric} covers only ${endpoint.relays.join(', ')}`);
  }
  // `ecosystem`, the sum over chains, is not in the registry.
  const found = name === undefined ? undefined : registry.find(name, relay_chain);
  if (name !== undefined && name !== ECOSYSTEM && found === undefined) {
    const ofRelay = relay_chain === undefined ? '' : ` of ${relay_chain}`;
    const near = didYouMean(
      name,
      namesOf(registry).filter((one) => one !== name),
    );
    throw new ProductError(
      'unknown_chain',
      `no chain${ofRelay} is called ${name}${near && `: ${near}`}; \`chain-metrics chains\` lists them`,
    );
  }
  if (found !== undefined && !endpoint.relays.includes(found.relay_chain)) {
    throw usage(`--chain ${name}: ${metric} covers only chains of ${endpoint.relays.join(', ')}`);
  }
  return { relay_chain: relay_chain ?? found?.relay_chain, chain: found?.name ?? name };
}

function daysOf({ metric, from, until }: ExportRequest, endpoint: MetricEndpoint) {
  const isDated = from !== undefined || until !== undefined;
  if (isDated && !endpoint.dates?.column)
    throw usage(`${metric} has no days: --from and --until do not apply`);
  if (from !== undefined && until !== undefined && from > until) {
    throw usage(`--until ${until} is before --from ${from}`);
  }
  return { isDated, start: clampDay(from ?? FIRST_DAY), end: clampDay(until ?? LAST_DAY) };
}

const usage = (text: string) => new ProductError('usage', text);
