import { displayOf } from '../../aggregate/columns.ts';
import { METRIC_DOMAINS, type Metric } from '../../aggregate/metric.ts';
import { metrics } from '../../aggregate/metrics/index.ts';

/** Every metric with its paths, definition, fields, units and formulas, from the files that compute them. */
export function metricsGuide(): string {
  const served = metrics.filter(({ endpoints }) => endpoints.length > 0);
  const groups = Object.entries(METRIC_DOMAINS).flatMap(([domain, title]) => {
    const ofDomain = served.filter((metric) => metric.domain === domain);
    return ofDomain.length === 0 ? [] : [`## ${title}`, ...ofDomain.map(section)];
  });
  return `# Every metric with its formula

What each metric counts, in which unit and by which formula. This page is made from the files that compute the metrics; \`/api/metrics\` is the same for programs, and \`/charts\` draws them.

Amounts whose field ends in \`_planck\` are whole numbers of the smallest unit of the chain's token; their twins without that ending are the same amounts in tokens. Unknown is \`null\`, never 0. Days are UTC days.

${groups.join('\n\n')}
`;
}

function section({ title, doc, endpoints, columns }: Metric): string {
  const paths = endpoints.map(({ path, summary }) => `- \`GET ${path}\`: ${summary}`);
  const fields = Object.entries(columns).map(([name, column]) => {
    const { unit } = displayOf(column);
    return `| \`${name}\` | ${unit ?? ''} | ${cell(column.description ?? '')} |`;
  });
  return `### ${title}

${doc}

${paths.join('\n')}

| field | unit | meaning and formula |
|---|---|---|
${fields.join('\n')}`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
