import { expect, test } from 'vitest';
import type { Registry } from '../../../../ingest/chains/registry.ts';
import { sales } from '../../../../serve/console/lists/coretime.ts';
import { facts, listRow } from '../../../../serve/console/lists/table-parts.ts';

test('numbers are short in a table, whose cell has all digits as its title, and whole where they stand alone', () => {
  const registry = { find: () => undefined } as unknown as Registry;
  const of = { source: sales.source, columns: [{ column: 'leadin_length' }], registry };
  const row = { leadin_length: 201_600 };
  expect(listRow(of, row).text).toMatch(/<span title="201,600">202\sk</);
  expect(facts(of, row).text).toContain('<dd>201,600</dd>');
});
