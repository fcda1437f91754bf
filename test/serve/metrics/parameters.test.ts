import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { metrics } from '../../../aggregate/metrics/index.ts';
import { Sql } from '../../../infra/sql.ts';
import { decodeAddress, encodeAddress } from '../../../ingest/chains/address.ts';
import { buildRegistry } from '../../../ingest/chains/registry.ts';
import { CHAINS } from '../../../ingest/chains/table.ts';
import { Random } from '../../../ingest/demo/random.ts';
import { ParameterError } from '../../../serve/http/errors.ts';
import { parametersOf, queryOf, querySchema } from '../../../serve/metrics/parameters.ts';

const registry = buildRegistry(CHAINS);
const random = new Random(11);
const hex = (bytes: number) =>
  `0x${Array.from({ length: bytes * 2 }, () => random.whole(0, 15).toString(16)).join('')}`;

/** Texts of every kind that a parameter takes, and what is almost one. */
const PIECES = [
  () => encodeAddress(hex(32), random.pick([0, 2, 42, 63, 64, 16_383])),
  () => hex(random.pick([10, 19, 20, 21, 32])),
  () => `20${random.whole(10, 99)}-${random.whole(0, 13)}-${random.whole(0, 32)}`,
  () => String(random.whole(-2, 99) ** random.whole(1, 12)),
  () =>
    random.pick([
      'polkadot',
      'ecosystem',
      'bulk',
      'Transfer',
      'Assets,Staking',
      'csv',
      'NaN',
      'null',
      '1e3',
      '٣',
    ]),
  () => random.pick(["'", '\\', '\0', '\ud800', '\u202e', '%00', ';', '--', '{x:Int8}', '', ' ', '\n']),
  () => 'x'.repeat(random.pick([1, 127, 128, 129, 5000])),
  () => String.fromCodePoint(random.whole(1, 0x10ffff)),
];
const text = (): string =>
  Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => random.pick(PIECES)()).join('');

const paths = metrics.flatMap((metric) => metric.endpoints.map((endpoint) => ({ metric, endpoint })));

describe.each(paths)('parameters of $endpoint.path', ({ metric, endpoint }) => {
  const parameters = parametersOf(metric, endpoint, { LIST_ROWS_MAX: 1000, SERIES_ROWS_MAX: 2000 });
  const schema = querySchema(parameters);

  test('any text is refused, or becomes a statement that is not much longer than it', () => {
    for (let i = 0; i < 300; i++) {
      const given = Object.fromEntries(
        parameters.flatMap(({ name, required }) =>
          required || random.chance(0.3) ? [[name, random.chance(0.1) ? [text(), text()] : text()]] : [],
        ),
      );
      const parsed = schema.safeParse(given);
      if (!parsed.success) continue;
      try {
        const query = queryOf(endpoint, parsed.data, registry, '2026-01-01');
        const length = query.conditions.map((condition) => condition.text.length).reduce((a, b) => a + b, 0);
        expect(query.conditions.every((condition) => condition instanceof Sql)).toBe(true);
        expect(length).toBeLessThan(4 * JSON.stringify(given).length + 500);
      } catch (error) {
        expect(error).toBeInstanceOf(ParameterError);
      }
    }
  });

  test('`limit` tells how many rows come without it', () => {
    const doc = parameters.find(({ name }) => name === 'limit')?.doc;
    expect(doc).toContain(`; without it, up to ${endpoint.isLimited ? 1000 : 2000}.`);
  });

  test('every text has a bound, by its form or by a number', () => {
    for (const { name, schema: one } of parameters) {
      const long = [
        z.safeParse(one, 'x'.repeat(5000)),
        z.safeParse(one, '1'.repeat(5000)),
        z.safeParse(one, ['x'.repeat(5000)]),
      ];
      expect([name, long.map(({ success }) => success)]).toEqual([name, [false, false, false]]);
    }
  });
});

describe('an address', () => {
  test('is the key that it was made of, with any prefix', () => {
    for (let i = 0; i < 300; i++) {
      const [key, prefix] = [hex(32), random.whole(0, 16_383)];
      expect(decodeAddress(encodeAddress(key, prefix))).toEqual({ key, prefix });
    }
  });

  test('with a changed, lost or added sign is none', () => {
    for (let i = 0; i < 1000; i++) {
      const address = encodeAddress(hex(32), random.pick([0, 2, 42, 1337]));
      const at = random.whole(0, address.length - 1);
      const sign = random.pick(
        [...'123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0OIl-é'].filter(
          (one) => one !== address[at],
        ),
      );
      const changed = random.pick([
        `${address.slice(0, at)}${sign}${address.slice(at + 1)}`,
        `${address.slice(0, at)}${address.slice(at + 1)}`,
        `${address}${sign}`,
      ]);
      expect(decodeAddress(changed), changed).toBeNull();
    }
  });

  test('is nothing that throws', () => {
    for (let i = 0; i < 2000; i++) expect(() => decodeAddress(text())).not.toThrow();
  });
});
