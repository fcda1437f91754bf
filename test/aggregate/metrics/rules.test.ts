import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { deadLetters } from '../../../ingest/raw/tables.ts';
import { RULES, rowsOfCase } from '../../reference/rules/index.ts';
import type { Row } from '../../reference/rules/rule.ts';
import { openServed, type Served } from './coretime/served.ts';

/** `RULES=fees,wrappers` runs these only. */
const names = Object.keys(RULES).filter((name) => process.env.RULES?.split(',').includes(name) ?? true);

let served: Served;
beforeAll(async () => {
  served = await openServed();
});
afterEach(() => served.forget());
afterAll(() => served.close());

it.each(names)(
  '%s',
  async (name) => {
    const rules = RULES[name] ?? [];
    await served.ingest(...rules.flatMap(({ lines }) => lines));
    const answers = new Map<string, readonly Row[]>();
    const answer = async (path: string) => {
      const rows = answers.get(path) ?? (await served.exactRows(`/api/${path}`));
      answers.set(path, rows);
      return rows;
    };
    const wrong: object[] = [];
    for (const sibling of rules.flatMap(({ siblings }) => siblings)) {
      const { title, path, rows } = sibling;
      const found = rowsOfCase(sibling, await answer(path));
      if (textOf(found) !== textOf(rows))
        wrong.push({ title, path, found: textOf(found), right: textOf(rows) });
    }
    expect(wrong).toEqual([]);
    const [letters] = await served.pipeline.runtime.store.rows<{ n: number }>(
      sql`SELECT count() AS n FROM ${deadLetters} FINAL`,
    );
    expect(letters?.n).toBe(rules.flatMap(({ refused }) => refused).length);
  },
  600_000,
);

it('a date alone is compared with nothing but the data', async () => {
  await served.ingest(...(RULES.fees ?? []).flatMap(({ lines }) => lines));
  const status = async (query: string) => (await served.app.inject(`/api/daily-fees?${query}`)).statusCode;
  const all = await served.rows('/api/daily-fees');
  expect(all.length).toBeGreaterThan(3);
  for (const [query, rows] of [
    ['start_date=9999-12-31', []],
    ['start_date=2999-02-28', []],
    ['end_date=1969-12-31', []],
    ['end_date=0001-01-01', []],
    ['start_date=0001-01-01', all],
    ['end_date=9999-12-31', all],
    ['start_date=0001-01-01&end_date=9999-12-31', all],
  ] as const) {
    expect([query, await served.rows(`/api/daily-fees?${query}`)]).toEqual([query, rows]);
  }
  const refused = [
    'start_date=9999-12-31&end_date=9999-12-30',
    'end_date=2023-02-29',
    'start_date=10000-01-01',
  ];
  expect(await Promise.all(refused.map(status))).toEqual([422, 422, 422]);
}, 600_000);

const textOf = (value: unknown) =>
  JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? part.toString() : part));
