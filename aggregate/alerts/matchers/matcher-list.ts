import { matchesWhole, plainAlternatives } from './expression.ts';
import type { Matcher, MatchLabels } from './matcher.ts';

type Test = (labels: MatchLabels) => boolean;

/** Returns a test for all matchers. Regular expressions run last, because they are slower. */
export function compileMatchers(list: readonly Matcher[]): Test {
  const tests = list.map(compileMatcher).sort((a, b) => Number(a.isSlow) - Number(b.isSlow));
  return (labels) => tests.every(({ test }) => test(labels));
}

function compileMatcher(matcher: Matcher): { readonly isSlow: boolean; readonly test: Test } {
  const { name, value, isRegex, isEqual } = matcher;
  const texts = isRegex ? plainAlternatives(value) : new Set([value]);
  const isMatch = (text: string) => (texts === null ? matchesWhole(value, text) : texts.has(text));
  const test: Test = ({ values, isCut }) => {
    const label = values.get(name);
    if (label === undefined && isCut) return false;
    return isMatch(label ?? '') === isEqual;
  };
  return { isSlow: texts === null, test };
}

/** A list that matches an alert without labels matches nearly every alert. */
export const matchesEmptyLabels = (list: readonly Matcher[]): boolean =>
  compileMatchers(list)({ values: new Map(), isCut: false });

/** Whether an index can find a list by this matcher: it requires one value of a label. */
export const isIndexed = ({ value, isRegex, isEqual }: Matcher): boolean =>
  !isRegex && isEqual && value !== '';
