/** A name that differs in a larger share of its letters is not suggested. */
const SHARE_OF_LETTERS = 0.34;

/** The name with the smallest edit distance; null if none is close enough. */
export function nearestName(
  text: string,
  names: Iterable<string>,
  lettersMax = text.length * SHARE_OF_LETTERS,
): string | null {
  const wanted = text.toLowerCase();
  let [nearest, least]: [string | null, number] = [null, lettersMax];
  for (const name of names) {
    const distance = distanceOf(wanted, name.toLowerCase(), least);
    if (distance < least || (distance === least && nearest === null)) [nearest, least] = [name, distance];
  }
  return nearest;
}

/** A suggestion to append to an error; empty if no name is close enough. */
export function didYouMean(text: string, names: Iterable<string>): string {
  const near = nearestName(text, names);
  return near === null ? '' : `did you mean ${near}?`;
}

/** Levenshtein distance; infinite if the lengths alone differ by more than `most`. */
function distanceOf(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return Number.POSITIVE_INFINITY;
  let before = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const changed = (before[j - 1] as number) + (one[i - 1] === other[j - 1] ? 0 : 1);
      row.push(Math.min(changed, (before[j] as number) + 1, (row[j - 1] as number) + 1));
    }
    before = row;
  }
  return before[other.length] as number;
}
