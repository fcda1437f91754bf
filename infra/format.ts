/** A whole number for people, with separators. */
export const formatNumber = (value: number): string => Math.round(value).toLocaleString('en-US');

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${formatNumber(value)} ${value === 1 ? one : many}`;
}

/** A size for people: `1.2 GB`. */
export function formatBytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let left = value;
  let unit = 0;
  while (left >= 1000 && unit < units.length - 1) {
    left /= 1000;
    unit++;
  }
  return `${unit === 0 || left >= 100 ? Math.round(left) : left.toFixed(1)} ${units[unit]}`;
}

const STEPS = [
  ['y', 365 * 86_400],
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** The two largest units of a time: `3 y 12 d`, `4 min 5 s`. */
export function formatDuration(seconds: number): string {
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(seconds < 1 ? 2 : 1)} s`;
  let left = Math.round(seconds);
  const parts: string[] = [];
  for (const [unit, size] of STEPS) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
    if (parts.length === 2 || (parts.length === 1 && count === 0)) break;
  }
  return parts.join(' ');
}

/** How long ago a time was, in its largest unit: `3 min ago`. */
export function formatAge(time: string | number, now: number): string {
  const seconds = Math.floor((now - new Date(time).getTime()) / 1000);
  if (seconds < 0) return `in ${formatAge(now, now - seconds * 1000).replace(' ago', '')}`;
  const [unit, size] = STEPS.find(([, size]) => seconds >= size) ?? ['s', 1];
  return `${formatNumber(Math.floor(seconds / size))} ${unit} ago`;
}
