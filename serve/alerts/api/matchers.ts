import { z } from 'zod';
import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import { formatMatchers } from '../../../aggregate/alerts/matchers/parse.ts';
import { RequestRefused } from '../model/access.ts';
import { MATCHERS_MAX, requireMatchers } from '../model/entered-matchers.ts';
import { wellFormedText } from '../projects/shapes.ts';

/** A list of matchers in the syntax of Alertmanager, one per text, as in its configuration file. */
export const matchersInput = z.array(wellFormedText()).max(MATCHERS_MAX);

export const matchersJson = (list: readonly Matcher[]): readonly string[] =>
  list.map((matcher) => formatMatchers([matcher]));

/** Parses the matchers of a request. An error names the invalid text by its index. */
export function matchersOf(texts: z.output<typeof matchersInput>, field: string): readonly Matcher[] {
  return texts.flatMap((text, i) => {
    const list = requireMatchers(text, `${field}.${i}`);
    if (list.length === 1) return list;
    const fault = 'Enter one matcher in each text, such as severity="critical".';
    throw new RequestRefused('bad_request', fault, `${field}.${i}`);
  });
}
