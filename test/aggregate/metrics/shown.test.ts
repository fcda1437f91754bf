import { describe, expect, test } from 'vitest';
import { clickhouseType, displayOf, usdColumnOf } from '../../../aggregate/columns.ts';
import { isTimeSeries, METRIC_DOMAINS, type Metric } from '../../../aggregate/metric.ts';
import { metrics } from '../../../aggregate/metrics/index.ts';
import type { ColumnDisplay, Merge, Unit } from '../../../aggregate/units.ts';
import { product } from '../../support/source-files.ts';

const served = metrics.filter(({ endpoints }) => endpoints.length > 0);
const columnsOf = ({ columns }: Metric) =>
  Object.entries(columns).map(([name, column]) => ({ name, column, shown: displayOf(column) }));
const everyColumn = served.flatMap((metric) =>
  columnsOf(metric).map((one) => ({ ...one, at: `${metric.name}.${one.name}` })),
);
const twice = (texts: readonly string[]) => texts.filter((text, i) => texts.indexOf(text) !== i);
const namesOf = (columns: readonly { readonly at: string }[]) => columns.map(({ at }) => at);

const NEVER_SUMMED: readonly Unit[] = ['ratio', 'percent', 'seconds', 'height', 'identifier'];
const NEVER_DRAWN: readonly (Unit | null)[] = ['planck', 'height', 'identifier', null];
/** Amounts of different tokens, and names, make nothing together. */
const NEVER_MERGED_OVER_CHAINS: readonly Unit[] = ['native', 'planck', 'height', 'identifier'];

describe('a metric', () => {
  test('has a short title of its own', () => {
    const titles = metrics.map(({ title }) => title);
    expect(twice(titles)).toEqual([]);
    expect(titles.filter((title) => !/^[A-Z][^.]{3,50}$/.test(title))).toEqual([]);
  });

  test('is of the domain whose folder declares it, and every domain has one', () => {
    const folders = new Map(
      product.flatMap(({ path, text }) =>
        [...text.matchAll(/^ {2}record: '(\w+)',$/gm)].map(([, record]) => [record, path.split('/')[2]]),
      ),
    );
    for (const { record, domain } of metrics) expect(folders.get(record), record).toBe(domain);
    expect(new Set(served.map(({ domain }) => domain))).toEqual(new Set(Object.keys(METRIC_DOMAINS)));
  });

  test.each(served)('$record names each of its columns differently', (metric) => {
    expect(twice(columnsOf(metric).map(({ shown }) => shown.title))).toEqual([]);
  });

  test('draws at least one column where it has a row for each chain and day or month', () => {
    const series = served.filter(isTimeSeries);
    expect(series.length).toBeGreaterThan(10);
    expect(
      series
        .filter((metric) => !columnsOf(metric).some(({ shown }) => shown.isDrawn))
        .map(({ name }) => name),
    ).toEqual([]);
  });
});

test('rows of days and months are drawn, but those of accounts: their lines would be thousands', () => {
  const ofPeriods = served.filter(({ key }) => key.includes('date') || key.includes('month'));
  expect(ofPeriods.filter((metric) => !isTimeSeries(metric)).map(({ name }) => name)).toEqual([
    'daily_staking_rewards',
  ]);
});

describe('a served column', () => {
  test('has a title in a few words that begins with a capital letter', () => {
    expect(namesOf(everyColumn.filter(({ shown }) => !/^[A-Z].{1,49}$/.test(shown.title)))).toEqual([]);
  });

  test('has a unit exactly when it is a number', () => {
    const isNumber = /^(?:Nullable\()?(?:UInt|Float)/;
    const wrong = everyColumn.filter(
      ({ column, shown }) => isNumber.test(clickhouseType(column)) !== (shown.unit !== null),
    );
    expect(namesOf(wrong)).toEqual([]);
  });

  test('adds up as its unit allows', () => {
    const isWrong = ({ unit, overTime, overChains }: ColumnDisplay) => {
      const merges: readonly Merge[] = [overTime, overChains];
      if (unit === null) return merges.some((merge) => merge !== 'none');
      if (NEVER_SUMMED.includes(unit) && merges.includes('sum')) return true;
      return NEVER_MERGED_OVER_CHAINS.includes(unit) && overChains !== 'none';
    };
    expect(namesOf(everyColumn.filter(({ shown }) => isWrong(shown)))).toEqual([]);
  });

  test('is not drawn when it is a name, the height of a block, or the exact twin of another', () => {
    const wrong = everyColumn.filter(({ shown }) => shown.isDrawn && NEVER_DRAWN.includes(shown.unit));
    expect(namesOf(wrong)).toEqual([]);
  });

  test('of distinct things adds up to nothing', () => {
    const distinct = everyColumn.filter(({ column }) => /\bdistinct\b/.test(column.description ?? ''));
    expect(distinct.length).toBeGreaterThan(10);
    expect(namesOf(distinct.filter(({ shown }) => shown.overChains !== 'none'))).toEqual([]);
    expect(namesOf(distinct.filter(({ shown }) => shown.overTime === 'sum'))).toEqual([]);
  });

  test('in native tokens adds up over time as its twins in planck and USD do', () => {
    const wrong = served.flatMap((metric) =>
      columnsOf(metric)
        .filter(({ shown }) => shown.unit === 'native')
        .flatMap(({ name, shown }) => {
          const twins = [`${name}_planck`, usdColumnOf(metric.columns, name) ?? ''].flatMap(
            (twin) => metric.columns[twin] ?? [],
          );
          return twins.some((twin) => displayOf(twin).overTime !== shown.overTime)
            ? [`${metric.name}.${name}`]
            : [];
        }),
    );
    expect(wrong).toEqual([]);
  });
});

describe('a column in USD', () => {
  test('is found by the column in native tokens of the same amounts', () => {
    const pairs = served.flatMap(({ name: metric, columns }) =>
      Object.keys(columns).flatMap((name) => {
        const twin = usdColumnOf(columns, name);
        return twin === undefined ? [] : [`${metric}: ${name} and ${twin}`];
      }),
    );
    expect(pairs).toEqual([
      'daily_fees: total_fees and total_fees_usd',
      'daily_summary: fees and fees_usd',
      'daily_summary: treasury and treasury_usd',
      'coretime_purchase: price and price_usd',
      'coretime_renewal: price and price_usd',
      'daily_staking_rewards: reward and reward_usd',
      'gov_parent_bounty_summary: total_claimed and total_claimed_usd',
      'gov_parent_bounty_summary: average_claimed and average_claimed_usd',
      'gov_parent_bounty_summary: top_beneficiary_claimed and top_beneficiary_claimed_usd',
      'gov_child_bounty: claimed_amount and claimed_amount_usd',
    ]);
  });

  test('is what a name that ends in _usd means', () => {
    const named = everyColumn.filter(({ name }) => name.endsWith('_usd'));
    expect(namesOf(named.filter(({ shown }) => shown.unit !== 'usd'))).toEqual([]);
  });
});
