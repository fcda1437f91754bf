import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Session } from 'chdb';
import { afterAll, expect, it } from 'vitest';
import { guideFile } from '../../../serve/guides/guides.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());

it('the statements of the guide back a database up and restore it', () => {
  const guide = readFileSync(guideFile('backup'), 'utf8');
  const [, block = ''] = /```sql\n([\s\S]*?)```/.exec(guide) ?? [];
  const [backup = '', restore = ''] = block.replaceAll('/backups/', `${place.path}/backups/`).split(';\n');
  const session = new Session(join(place.path, 'store'), {
    connectionArgs: [`--backups.allowed_path=${place.path}/backups/`],
  });
  try {
    session.query('CREATE DATABASE chain_metrics ENGINE = Atomic');
    session.query('CREATE TABLE chain_metrics.landing (n UInt64) ENGINE = Null');
    session.query('CREATE TABLE chain_metrics.kept (n UInt64) ENGINE = ReplacingMergeTree ORDER BY n');
    session.query(
      'CREATE MATERIALIZED VIEW chain_metrics.view TO chain_metrics.kept AS SELECT n FROM chain_metrics.landing',
    );
    session.query('INSERT INTO chain_metrics.landing SELECT number FROM numbers(1000)');
    expect(session.query(backup)).toContain('BACKUP_CREATED');
    session.query('DROP DATABASE chain_metrics SYNC');
    expect(session.query(restore)).toContain('RESTORED');
    session.query('INSERT INTO chain_metrics.landing VALUES (1000)');
    expect(session.query('SELECT count(), sum(n) FROM chain_metrics.kept', 'CSV').trim()).toBe('1001,500500');
  } finally {
    session.close();
  }
});
