import { SEVERITIES, type Severity } from '../model/alert.ts';

/** Words of metrics-monitoring tools, in lower case. */
const WORDS: Readonly<Record<string, Severity>> = Object.fromEntries(
  (
    [
      ['critical', ['critical', 's1', 'p1', 'emergency', 'fatal']],
      ['high', ['high', 's2', 'p2', 'major', 'page']],
      ['medium', ['medium', 's3', 'p3', 'error', 'alert']],
      ['low', ['low', 's4', 'p4', 'warn', 'warning']],
      ['info', ['info', 's5', 'p5', 'debug', 'information', 'notice']],
    ] as const
  ).flatMap(([severity, words]) => words.map((word) => [word, severity])),
);

/** Severity of a generic alert: one of the list in any case; anything else is critical. */
export function genericSeverity(value: unknown): Severity {
  const word = wordOf(value);
  return SEVERITIES.find((severity) => severity === word) ?? 'critical';
}

/** Severity of a Prometheus-format item, by the words that its rules use; anything else is critical. */
export function prometheusSeverity(value: unknown): Severity {
  const word = wordOf(value);
  return Object.hasOwn(WORDS, word) ? (WORDS[word] as Severity) : 'critical';
}

const wordOf = (value: unknown) => (typeof value === 'string' ? value.trim().toLowerCase() : '');
