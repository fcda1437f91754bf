import type { Unit } from '../../../aggregate/units.ts';
import { type ChartColumn, type ChartMetric, type Line, lineId } from '../series/chart-metrics.ts';
import { chainName } from '../series/names.ts';

/** Grafana unit ids. */
const GRAFANA_UNITS: Readonly<Record<Unit, string>> = {
  count: 'short',
  native: 'short',
  planck: 'short',
  usd: 'currencyUSD',
  ratio: 'percentunit',
  percent: 'percent',
  seconds: 's',
  bytes: 'decbytes',
  per_second: 'cps',
  height: 'none',
  identifier: 'none',
  weight: 'short',
  number: 'short',
};
const SCHEMA_VERSION = 39;
const HEIGHT = 8;
const DATASOURCE = { type: 'yesoreyeram-infinity-datasource', uid: `\${datasource}` };

/** A Grafana dashboard with a panel for each column of a metric and a query for each line. */
export function grafanaDashboard(metric: ChartMetric, lines: readonly Line[], origin: string) {
  return {
    title: `${metric.metric.title} (Chain Metrics)`,
    description: metric.metric.doc,
    tags: ['chain-metrics'],
    timezone: 'utc',
    editable: true,
    schemaVersion: SCHEMA_VERSION,
    time: { from: 'now-180d', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: DATASOURCE.type }],
    },
    links: [{ title: 'Definition', type: 'link', url: `${origin}/charts/${metric.id}`, targetBlank: true }],
    panels: metric.columns.map((column, i) => ({
      id: i + 1,
      type: 'timeseries',
      title: column.shown.title,
      description: column.meaning,
      gridPos: { x: (i % 2) * 12, y: Math.floor(i / 2) * HEIGHT, w: 12, h: HEIGHT },
      datasource: DATASOURCE,
      fieldConfig: {
        // Days without a value are gaps, not zeros.
        defaults: { unit: GRAFANA_UNITS[column.shown.unit], custom: { spanNulls: false } },
        overrides: [],
      },
      targets: lines.map((line, place) => targetOf({ ...line, column }, place, origin)),
    })),
  };
}

/** The query of one line. One query per line makes Grafana show its name in the legend. */
function targetOf(line: Line & { readonly column: ChartColumn }, place: number, origin: string) {
  const name = [chainName(`${line.relay_chain}/${line.chain}`), ...line.parts].join(', ');
  // Variables of Grafana for its time range; they must not be URL-encoded.
  const days = `start_date=\${__from:date:YYYY-MM-DD}&end_date=\${__to:date:YYYY-MM-DD}`;
  return {
    refId: String.fromCharCode(65 + place),
    datasource: DATASOURCE,
    ...{ type: 'csv', source: 'url', parser: 'backend', format: 'timeseries', root_selector: '' },
    url: `${origin}/api/series?${new URLSearchParams({ series: lineId(line) })}&${days}&format=csv`,
    url_options: { method: 'GET' },
    columns: [
      { selector: 'date', text: 'time', type: 'timestamp' },
      { selector: 'value', text: name, type: 'number' },
    ],
    filters: [],
  };
}
