import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { DamageReport } from '../../../infra/embedded/damage.ts';
import { StoredParts } from '../../../infra/embedded/stored-parts.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const file = join(place.path, 'parts.json');
const REMOVAL = 'ALTER TABLE t DELETE WHERE 1 SETTINGS mutations_sync = 1';

/** An engine that tells its parts when it is told to. */
function engine() {
  const { promise, resolve } = Promise.withResolvers<never[]>();
  const parts = new StoredParts({ rows: () => promise }, place.path, new DamageReport(place.path));
  return { parts, tell: () => resolve([]) };
}

it('parts are recorded as they are', async () => {
  const { parts, tell } = engine();
  tell();
  await parts.close();
  expect(existsSync(file)).toBe(true);
});

it('parts that were read before or while a statement took some away are not recorded as being there', async () => {
  const before = engine();
  const recorded = before.parts.close();
  await before.parts.during(REMOVAL, async () => undefined);
  before.tell();
  await recorded;
  expect(existsSync(file)).toBe(false);

  const during = engine();
  during.tell();
  await during.parts.during('DELETE FROM t WHERE 1', () => during.parts.close());
  expect(existsSync(file)).toBe(false);
});
