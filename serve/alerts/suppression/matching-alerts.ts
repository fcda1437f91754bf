import type { Matcher, MatchLabels } from '../../../aggregate/alerts/matchers/matcher.ts';
import { compileMatchers } from '../../../aggregate/alerts/matchers/matcher-list.ts';
import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import { EventLoopYielder } from '../../../infra/event-loop-yielder.ts';
import type { AlertReader } from '../projects/alert-reader.ts';
import type { Suppressor } from './suppressor.ts';

interface MatchingParts {
  readonly suppressor: Suppressor;
  readonly reader: AlertReader;
}

/** Counts matches among the newest open alerts of a project. */
export async function countMatching(
  { suppressor, reader }: MatchingParts,
  projectId: string,
  matchers: readonly Matcher[],
): Promise<{ readonly matching: number; readonly open: number }> {
  const matches = compileMatchers(matchers);
  let matching = 0;
  let open = 0;
  const labelsOf = await suppressor.labelReader();
  const turn = new EventLoopYielder();
  for await (const part of reader.openInParts(Number(projectId))) {
    open += part.length;
    for (const alert of part) {
      await turn.yieldIfDue();
      if (matches(labelsOf(alert))) matching++;
    }
  }
  return { matching, open };
}

/** Labels that every sender has. Other labels may name one occurrence, such as its time. */
const USUAL_LABELS: readonly string[] = ['alertname', 'severity', 'service', 'environment', 'host'];

/** Matchers for an alert and similar ones: its usual labels, and the labels on its page. */
export function proposedMatchers(alert: Alert, { values }: MatchLabels): readonly Matcher[] {
  const shown = new Set(alert.labels);
  return [...values]
    .filter(([name, value]) => value !== '' && (USUAL_LABELS.includes(name) || shown.has(`${name}=${value}`)))
    .map(([name, value]) => ({ name, value, isRegex: false, isEqual: true }));
}
