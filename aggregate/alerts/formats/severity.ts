import { SEVERITIES, type Severity } from '../model/alert.ts';

/** Severities by the names that monitoring tools use, in lower case. */
const SEVERITY_NAMES: Readonly<Record<string, Severity>> = Object.fromEntries(
  (
    [
      ['critical', ['critical', 's1', 'p1', 'emergency', 'fatal']],
      ['high', ['high', 's2', 'p2', 'major', 'page']],
      ['medium', ['medium', 's3', 'p3', 'error', 'alert']],
      ['low', ['low', 's4', 'p4', 'warn', 'warning']],
      ['info', ['info', 's5', 'p5', 'debug', 'information', 'notice']],
    ] as const
  ).flatMap(([severity, names]) => names.map((name) => [name, severity])),
);

/** Severity of a generic alert: a name of `SEVERITIES` in any case; anything else is critical. */
export function genericSeverity(value: unknown): Severity {
  const name = nameOf(value);
  return SEVERITIES.find((severity) => severity === name) ?? 'critical';
}

/** Severity of an item of the Prometheus format by its label; anything unknown is critical. */
export function prometheusSeverity(value: unknown): Severity {
  const name = nameOf(value);
  return Object.hasOwn(SEVERITY_NAMES, name) ? (SEVERITY_NAMES[name] as Severity) : 'critical';
}

const nameOf = (value: unknown) => (typeof value === 'string' ? value.trim().toLowerCase() : '');
