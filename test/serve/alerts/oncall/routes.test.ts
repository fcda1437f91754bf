import { describe, expect, test } from 'vitest';
import { compileMatchers } from '../../../../aggregate/alerts/matchers/matcher-list.ts';
import { parseMatchers } from '../../../../aggregate/alerts/matchers/parse.ts';
import { Random } from '../../../../ingest/demo/random.ts';
import { type AlertRoute, ProjectRoutes } from '../../../../serve/alerts/oncall/routes.ts';

const route = (name: string, matchers: string, more: Partial<AlertRoute> = {}): AlertRoute => ({
  ...{ name, matchers: parseMatchers(matchers), policy_id: `policy of ${name}` },
  ...{ delay_seconds: 0, continues: false, is_active: true, ...more },
});
const labelsOf = (labels: Record<string, string>, isCut = false) => ({
  values: new Map(Object.entries(labels)),
  isCut,
});
const targets = async (routes: readonly AlertRoute[], labels: Record<string, string>, isCut = false) =>
  (await new ProjectRoutes(routes).targetsOf(labelsOf(labels, isCut))).map(({ route }) => route);

const otherwise = route('default', '');

describe('an alert', () => {
  test('is taken by the first route that matches, and by the default one if none does', async () => {
    const list = [route('a', 'severity="critical"'), route('b', 'severity=~"critical|high"'), otherwise];
    expect(await targets(list, { severity: 'critical' })).toEqual(['a']);
    expect(await targets(list, { severity: 'high' })).toEqual(['b']);
    expect(await targets(list, { severity: 'low' })).toEqual(['default']);
    expect(await targets(list, {})).toEqual(['default']);
  });

  test('goes on after a route that continues, but not past one that does not', async () => {
    const list = [
      route('a', 'team="db"', { continues: true }),
      route('b', 'team!="db"', { continues: true }),
      route('c', 'severity="critical"'),
      otherwise,
    ];
    expect(await targets(list, { team: 'db', severity: 'critical' })).toEqual(['a', 'c']);
    expect(await targets(list, { team: 'db' })).toEqual(['a', 'default']);
    expect(await targets(list, { severity: 'critical' })).toEqual(['b', 'c']);
  });

  test('has one target for each policy, that of the first route', async () => {
    const list = [
      route('a', 'team="db"', { continues: true, policy_id: 'same', delay_seconds: 60 }),
      route('b', 'severity="critical"', { continues: true }),
      route('default', '', { policy_id: 'same' }),
    ];
    const found = await new ProjectRoutes(list).targetsOf(labelsOf({ team: 'db', severity: 'critical' }));
    expect(found).toEqual([
      { route: 'a', policyId: 'same', delaySeconds: 60 },
      { route: 'b', policyId: 'policy of b', delaySeconds: 0 },
    ]);
  });

  test('pages nobody by a route without a policy, and skips one that is not active', async () => {
    const list = [
      route('off', 'team="db"', { is_active: false }),
      route('quiet', 'team=~"d."', { policy_id: '' }),
      otherwise,
    ];
    expect(await targets(list, { team: 'db' })).toEqual([]);
    expect(await targets(list, { team: 'net' })).toEqual(['default']);
    expect(await targets([route('default', '', { policy_id: '' })], {})).toEqual([]);
  });

  test('whose labels were cut is taken as if it had no others, so that it pages', async () => {
    const list = [route('a', 'team!="db"'), otherwise];
    expect(await targets(list, {})).toEqual(['a']);
    expect(await targets(list, {}, true)).toEqual(['a']);
  });
});

test('the index finds what a walk over the routes finds', async () => {
  const random = new Random(11);
  const matcher = () =>
    `${random.pick(['a', 'b', 'c'])}${random.pick(['=', '!=', '=~', '!~'])}"${random.pick(['x', 'y', '', 'x|y', 'x.*'])}"`;
  for (let i = 0; i < 500; i++) {
    const list = Array.from({ length: random.whole(0, 12) }, (_, n) =>
      route(`${n}`, Array.from({ length: random.whole(1, 3) }, matcher).join(), {
        continues: random.chance(0.5),
        is_active: random.chance(0.9),
        policy_id: random.pick(['', 'p', 'q', 'r']),
      }),
    );
    const labels = Object.fromEntries(
      ['a', 'b', 'c']
        .filter(() => random.chance(0.7))
        .map((name) => [name, random.pick(['x', 'y', 'xy', 'z'])]),
    );
    const isCut = random.chance(0.1);
    const all = [...list, otherwise];
    expect(await targets(all, labels, isCut)).toEqual(slowTargets(all, labels));
  }
});

function slowTargets(list: readonly AlertRoute[], labels: Record<string, string>): string[] {
  const found: AlertRoute[] = [];
  for (const next of list) {
    if (!next.is_active || !compileMatchers(next.matchers)(labelsOf(labels, false))) continue;
    const isNew = !found.some(({ policy_id }) => policy_id === next.policy_id);
    if (next.policy_id !== '' && isNew) found.push(next);
    if (!next.continues) break;
  }
  return found.map(({ name }) => name);
}
