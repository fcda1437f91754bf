import { TEXT_LIMITS } from './limits.ts';
import { lineOf } from './values.ts';

/** The labels within the limits, sorted by name. The stored payload has all of them. */
export function shownLabels(labels: Readonly<Record<string, unknown>>): string[] {
  const fitting: string[] = [];
  let characters = 0;
  for (const name of Object.keys(labels).sort()) {
    const value = lineOf(labels[name], TEXT_LIMITS.label);
    if (value === '') continue;
    const label = lineOf(`${name}=${value}`, TEXT_LIMITS.label);
    if (characters + label.length > TEXT_LIMITS.labels) break;
    characters += label.length;
    fitting.push(label);
  }
  return fitting;
}
