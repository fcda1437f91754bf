/** A whole number for people, with separators. */
export const number = (value: number): string => Math.round(value).toLocaleString('en-US');

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}
