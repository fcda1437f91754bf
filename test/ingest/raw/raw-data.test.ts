import { expect, it } from 'vitest';
import { rawData } from '../../../ingest/raw/raw-data.ts';
import { rawTables } from '../../../ingest/raw/tables.ts';

/** They order the versions of a row, and tell runs apart: what is read has one version of a row. */
const HIDDEN = ['rank', 'is_deleted', 'run'];

it('documents every column of a raw table but those that order its versions', () => {
  for (const { name, columns } of rawData.values()) {
    const stored = rawTables.find((table) => table.name === name);
    const shown = Object.keys(stored?.columns ?? {}).filter((column) => !HIDDEN.includes(column));
    expect(Object.keys(columns).sort(), name).toEqual(shown.sort());
    for (const [column, { doc }] of Object.entries(columns)) expect(doc, `${name}.${column}`).not.toBe('');
  }
});

it('names the columns that identify a row, and the day of it', () => {
  for (const { name, columns, key, moment } of rawData.values()) {
    expect(
      [...key, moment].filter((column) => !(column in columns)),
      name,
    ).toEqual([]);
  }
});
