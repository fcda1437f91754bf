/** What a query of PromQL reads: the series that it names, and the labels that it expects of any of them. */
export interface ReadSeries {
  readonly series: ReadonlySet<string>;
  /** Labels in matchers, by series. */
  readonly matched: ReadonlyMap<string, ReadonlySet<string>>;
  /** Labels after `by` and `on`. */
  readonly grouped: ReadonlySet<string>;
}

const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset']);

/** Reads the names in a query that Prometheus can parse. */
export function seriesOf(query: string): ReadSeries {
  const grouped = new Set<string>();
  const code = query
    .replace(/"(?:\\.|[^"\\])*"/g, '""')
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\boffset\s+\w+/g, '')
    .replace(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g, (_, list: string) => {
      for (const label of list.split(',')) if (label.trim() !== '') grouped.add(label.trim());
      return ' ';
    });
  const series = new Set<string>();
  const matched = new Map<string, Set<string>>();
  for (const [, name = '', , matchers = ''] of code.matchAll(
    /(?<![\w:.])([a-zA-Z_:][\w:]*)(?!\s*\()(?![\w:])(\s*\{([^}]*)\})?/g,
  )) {
    if (WORDS.has(name)) continue;
    series.add(name);
    const labels = matched.get(name) ?? new Set<string>();
    for (const [, label = ''] of matchers.matchAll(/(\w+)\s*[=!]/g)) labels.add(label);
    matched.set(name, labels);
  }
  return { series, matched, grouped };
}
