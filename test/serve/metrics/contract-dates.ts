import { describe, expect, test } from 'vitest';
import {
  always,
  type ContractClient,
  type ContractQuery,
  dayColumn,
  hasDates,
  isFilled,
  needed,
  testWhere,
} from './contract-client.ts';
import { ENDPOINTS } from './endpoints.ts';
import { DAYS } from './made-blocks.ts';

/** What every path with dates has in common. */
export function describeDates(client: ContractClient): void {
  describe.each(ENDPOINTS.filter(hasDates))('dates of $path', (endpoint) => {
    const column = dayColumn(endpoint);
    const daysOf = async (query: ContractQuery) =>
      [...new Set((await client.rowsOf(endpoint, query)).map((row) => row[column] as string))].sort();
    const isMonthly = column === 'month';

    test.each(['start_date', 'end_date'])('%s is a day of the form YYYY-MM-DD or refused', async (name) => {
      const bad = [
      '', ' ', '2023', '2023-01', '2023-1-1', '20230101', '2023-01-01T00:00:00Z', '2023/01/01', '01-01-2023', '0000-12-31', '2023-13-01', '2023-00-10',
      '2023-01-00', '2023-01-32', '2023-02-29', '2100-02-29', '2023-04-31', ' 2023-01-01', '2023-01-01 ', '+2023-01-01', '-2023-01-01',
      '２０２３-01-01', 'today', "2023-01-01'", '12023-01-01',
    ]; // biome-ignore format: a list of texts
      for (const text of bad) {
        const issues = await client.refusal(endpoint, { ...needed(endpoint), [name]: text });
        expect(
          issues.map(({ loc }) => loc),
          text,
        ).toEqual([['query', name]]);
      }
    });

    test('a leap day and the ends of the calendar are days', async () => {
      await client.rowsOf(endpoint, { start_date: '2024-02-29', end_date: '2024-02-29' });
      await client.rowsOf(endpoint, { start_date: '0001-01-01', end_date: '9999-12-31' });
    });

    test('a range that ends before it begins is refused', async () => {
      const issues = await client.refusal(endpoint, { start_date: '2023-01-02', end_date: '2023-01-01' });
      expect(issues).toHaveLength(1);
    });

    test('one day alone outside the data is an empty answer, in every format', async () => {
      if (endpoint.parameters.start_date?.required) return;
      const alone = [
        ...['2100-01-01', '2149-06-06', '2149-06-07', '9999-12-31'].map((start_date) => ({ start_date })),
        ...['0001-01-01', '1969-12-31', '1970-01-01', '2015-01-01'].map((end_date) => ({ end_date })),
      ];
      for (const query of alone) {
        expect(await client.rowsOf(endpoint, { ...needed(endpoint), ...query })).toEqual([]);
        for (const format of ['csv', 'ndjson', 'parquet', 'arrow'])
          expect((await client.ask(endpoint, { ...needed(endpoint), ...query, format })).statusCode).toBe(
            200,
          );
      }
    });

    const { start_date: start, end_date: end } = endpoint.parameters;
    if (start?.required || end?.required) {
      test('are required: each that is missing is told', async () => {
        const missing = (name: string) => ({
          type: 'missing',
          loc: ['query', name],
          msg: expect.stringMatching(/\S/),
        });
        expect(await client.refusal(endpoint, {})).toEqual([
          expect.objectContaining(missing('start_date')),
          expect.objectContaining(missing('end_date')),
        ]);
        expect(await client.refusal(endpoint, { start_date: '2023-01-01' })).toEqual([
          expect.objectContaining(missing('end_date')),
        ]);
        expect(await client.refusal(endpoint, { end_date: '2023-01-01' })).toEqual([
          expect.objectContaining(missing('start_date')),
        ]);
      });
    } else {
      test('may be left out, each or both: then there is no bound', async () => {
        if (!isFilled(endpoint)) {
          for (const query of [{}, { start_date: '2023-01-02' }, { end_date: '2023-01-31' }])
            await client.rowsOf(endpoint, query);
          return;
        }
        const all = isMonthly ? ['2023-01-31', '2023-02-28'] : DAYS.filter((day) => day >= '2023-01-01');
        expect(await daysOf({})).toEqual(all);
        expect(await daysOf({ start_date: '2023-01-02' })).toEqual(all.filter((day) => day >= '2023-01-02'));
        expect(await daysOf({ end_date: '2023-01-31' })).toEqual(all.filter((day) => day <= '2023-01-31'));
      });
    }

    testWhere(isFilled(endpoint), 'both ends of a range belong to it', async () => {
      if (isMonthly) {
        expect(await daysOf({ start_date: '2023-01-31', end_date: '2023-01-31' })).toEqual(['2023-01-31']);
        expect(await daysOf({ start_date: '2023-01-01', end_date: '2023-01-30' })).toEqual([]);
        expect(await daysOf({ start_date: '2023-01-15', end_date: '2023-01-31' })).toEqual(['2023-01-31']);
      } else {
        expect(await daysOf({ start_date: '2023-01-01', end_date: '2023-01-01' })).toEqual(['2023-01-01']);
        expect(await daysOf({ start_date: '2023-01-02', end_date: '2023-01-31' })).toEqual([
          '2023-01-02',
          '2023-01-31',
        ]);
      }
    });

    testWhere(
      endpoint.earliest,
      `nothing before ${endpoint.earliest} is served, and an earlier start is no error`,
      async () => {
        const earliest = endpoint.earliest as string;
        const days = await daysOf(always);
        expect(days.filter((day) => day < earliest)).toEqual([]);
        if (isFilled(endpoint)) expect(days[0]).toBe(isMonthly ? '2023-01-31' : earliest);
        expect(await daysOf({ start_date: '2000-01-01', end_date: previousDay(earliest) })).toEqual([]);
      },
    );

    test('a range without data is empty', async () => {
      expect(await client.rowsOf(endpoint, { start_date: '2030-01-01', end_date: '2030-12-31' })).toEqual([]);
    });
  });
}

function previousDay(day: string): string {
  return new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10);
}
