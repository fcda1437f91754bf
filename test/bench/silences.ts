/**
 * The processor time and the memory that the silences of a project cost for each new alert, half of them with regular
 * expressions and 100 of them hostile: `npx node --expose-gc test/bench/silences.ts`
 */
import { MatchIndex } from '../../aggregate/alerts/matchers/match-index.ts';
import type { Matcher } from '../../aggregate/alerts/matchers/matcher.ts';
import { report } from './measure.ts';

const SILENCES = 10_000;
const UNINDEXED = 1000;
const HOSTILE = 100;
const ALERTS = 500;
const NAMES = 1000;
const INDEXED_MS_MAX = 2;
const UNINDEXED_MS_MAX = 20;

/** As large as they may be, and slow to match. */
const HOSTILE_EXPRESSIONS = [
  '(a|aa)+[^a]',
  '(.*a){20}[^a]',
  '(\\pL{1,30}){1,6}[^a]',
  '([a-z]{1,9}){1,9}[^a]',
  '(a?){60}a{60}[^a]',
  '(a+a+)+[^a]|(a+)+[^a]',
];

const matcher = (name: string, value: string, isRegex = false): Matcher => ({
  name,
  value,
  isRegex,
  isEqual: true,
});

/** The regular expression of a list: hostile for the first 100, plain for others, none for every second one. */
function expressionOf(i: number): readonly Matcher[] {
  const hostile = HOSTILE_EXPRESSIONS[i % HOSTILE_EXPRESSIONS.length] ?? '';
  if (i < HOSTILE) return [matcher('path', `${hostile}|[p-q]${i}`, true)];
  return i % 2 === 0 ? [matcher('instance', `web-${i}\\..*|db-[0-9]+-${i}`, true)] : [];
}

const indexed = (i: number) => ({
  item: i,
  matchers: [matcher('alertname', `Alert${i % NAMES}`), ...expressionOf(i)],
});
/** Without a matcher by which the index finds it. */
const unindexed = (i: number) => ({
  item: i,
  matchers: [matcher('team', `t${i}`.repeat(2), true), ...expressionOf(i)].slice(-1),
});

const lists = (count: number, of: (i: number) => { item: number; matchers: readonly Matcher[] }) =>
  Array.from({ length: count }, (_, i) => of(i));

/** An alert whose longest label is as long as a label may be. */
const labelsOf = (i: number) => ({
  values: new Map([
    ['alertname', `Alert${i % NAMES}`],
    ['instance', `web-${i}.example.com`],
    ['team', 'storage'],
    ['severity', 'critical'],
    ['path', 'a'.repeat(i % 10 === 0 ? 1024 : 40)],
    ...Array.from({ length: 10 }, (_, n) => [`label${n}`, `value ${i} ${n}`] as const),
  ]),
  isCut: false,
});

async function millisecondsOf(
  index: MatchIndex<number>,
  count: number,
): Promise<{ mean: number; highest: number }> {
  // The first alerts compile the expressions.
  for (let i = 0; i < NAMES; i++) await index.matching(labelsOf(i + 1));
  let highest = 0;
  const { user, system } = process.cpuUsage();
  for (let i = 0; i < count; i++) {
    const before = process.cpuUsage();
    await index.matching(labelsOf(i * 7));
    const used = process.cpuUsage(before);
    highest = Math.max(highest, (used.user + used.system) / 1000);
  }
  const total = process.cpuUsage({ user, system });
  return { mean: (total.user + total.system) / 1000 / count, highest };
}

const heap = () => {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 2 ** 20;
};
const before = heap();
const byLabel = new MatchIndex(lists(SILENCES, indexed));
const withoutLabel = new MatchIndex([
  ...lists(SILENCES - UNINDEXED, (i) => indexed(i + UNINDEXED)),
  ...lists(UNINDEXED, unindexed),
]);
const atRest = heap() - before;
const first = await millisecondsOf(byLabel, ALERTS);
const second = await millisecondsOf(withoutLabel, ALERTS);
const used = heap() - before;

const figure = ({ mean, highest }: { mean: number; highest: number }) =>
  `mean ${mean.toFixed(2)} ms, highest ${highest.toFixed(1)} ms of processor time`;
report([
  {
    work: `a new alert, ${SILENCES} silences that the index finds`,
    peer: '',
    figure: figure(first),
    goal: `mean <= ${INDEXED_MS_MAX} ms`,
    met: first.mean <= INDEXED_MS_MAX,
  },
  {
    work: `a new alert, ${UNINDEXED} of them without a label to find them by`,
    peer: '',
    figure: figure(second),
    goal: `mean <= ${UNINDEXED_MS_MAX} ms`,
    met: second.mean <= UNINDEXED_MS_MAX,
  },
  {
    work: `memory of ${2 * SILENCES} silences`,
    peer: '',
    figure: `${atRest.toFixed(0)} MiB when loaded, ${used.toFixed(0)} MiB with compiled expressions`,
    goal: '<= 128 MiB',
    met: used <= 128,
  },
]);
