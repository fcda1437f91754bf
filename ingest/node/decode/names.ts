/** Names that @polkadot/types, and so Sidecar, reserves. */
const RESERVED = new Set(['entries', 'keys', 'new', 'size', 'hash', 'registry']);

/** Formats the name of a pallet, call, variant or field as Sidecar does: `X1` is `x1`, `NFTOrder` is `nftOrder`. */
export function camelCase(name: string): string {
  const words = name
    .split(/[-_., ]+/)
    .filter((word) => word !== '')
    .map(foldCapitals);
  const [first = '', ...rest] = words;
  return [first.charAt(0).toLowerCase() + first.slice(1), ...rest.map(capitalised)].join('');
}

/** A field's name inside a value. */
export function fieldName(name: string): string {
  const camel = camelCase(name);
  if (camel.includes('#')) return camel.replaceAll('#', '_');
  return RESERVED.has(camel) ? `${camel}_` : camel;
}

/** Lowers leading capitals. Before a small letter the last capital begins a new word. */
function foldCapitals(word: string): string {
  if (/^[\dA-Z]+$/.test(word)) return word.toLowerCase();
  return word.replace(
    /^[\dA-Z]{2,}[^a-z]/,
    (capitals) => capitals.slice(0, -1).toLowerCase() + capitals.slice(-1).toUpperCase(),
  );
}

const capitalised = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
