import { dependencies, type MaterializedMetric } from '../metric.ts';

export interface LeveledMetric {
  readonly metric: MaterializedMetric;
  readonly reads: ReadonlySet<string>;
  /** Distance from the raw tables. */
  readonly level: number;
}

/** Sorts metrics so that each one follows those that it reads. */
export function sortByLevel(metrics: readonly MaterializedMetric[]): LeveledMetric[] {
  const names = new Set(metrics.map((metric) => metric.name));
  const reads = new Map(metrics.map((metric) => [metric.name, dependencies(metric)]));
  const levels = new Map<string, number>();
  const levelOf = (name: string, path: readonly string[]): number => {
    if (path.includes(name))
      throw new Error(
        `metrics read each other in a circle: ${[...path, name].join(' → ')}; remove one of these reads`,
      );
    const known = levels.get(name);
    if (known !== undefined) return known;
    const below = [...(reads.get(name) ?? [])].filter((table) => names.has(table) && table !== name);
    const level = Math.max(-1, ...below.map((table) => levelOf(table, [...path, name]))) + 1;
    levels.set(name, level);
    return level;
  };
  return metrics
    .map((metric) => ({
      metric,
      reads: reads.get(metric.name) as ReadonlySet<string>,
      level: levelOf(metric.name, []),
    }))
    .sort((a, b) => a.level - b.level);
}
