import type { MetricEndpoint } from '../../aggregate/metric.ts';
import type { Registry } from '../../ingest/chains/registry.ts';
import { ParameterError, type ParameterIssue } from '../http/errors.ts';

// The API answers for a chain that it does not know with no rows, since a chain may be added any day. A person who reads
// an empty page would take a slip of the pen for a missing chain.

/** What sums over the chains of a relay chain are filed under. */
const ECOSYSTEM = 'ecosystem';
/** A name that differs in more of its letters is another word. */
const SHARE_OF_LETTERS = 0.34;

/** Throws when the chain that is asked for is not known, or has no rows behind this path. */
export function requireKnownChain(
  { relay_chain, chain: name }: { readonly relay_chain?: unknown; readonly chain?: unknown },
  endpoint: Pick<MetricEndpoint, 'relays'>,
  registry: Registry,
): void {
  if (typeof name !== 'string' || name === ECOSYSTEM) return;
  const chain = registry.find(name);
  if (chain === undefined) {
    const near = nearestName(
      name,
      registry.chains.flatMap((one) => [one.name, ...one.aliases]),
    );
    throw refused(name, `no chain is called that${near === null ? '' : `: did you mean ${near}?`}`);
  }
  if (typeof relay_chain === 'string' && chain.relay_chain !== relay_chain) {
    throw refused(name, `${chain.name} is a chain of ${chain.relay_chain}, not of ${relay_chain}`);
  }
  const relays: readonly string[] = endpoint.relays;
  if (!relays.includes(chain.relay_chain)) {
    throw refused(
      name,
      `${chain.name} is a chain of ${chain.relay_chain}: these rows are of ${relays.join(', ')}`,
    );
  }
}

function refused(input: string, msg: string): ParameterError {
  const issue: ParameterIssue = { type: 'value_error', loc: ['query', 'chain'], msg, input };
  return new ParameterError([issue]);
}

/** The name that is the fewest letters away; null when none is near. */
export function nearestName(text: string, names: readonly string[]): string | null {
  const wanted = text.toLowerCase();
  let [nearest, least]: [string | null, number] = [null, wanted.length * SHARE_OF_LETTERS];
  for (const name of names) {
    const distance = distanceOf(wanted, name, least);
    if (distance < least || (distance === least && nearest === null)) [nearest, least] = [name, distance];
  }
  return nearest;
}

/** Letters to add, remove or change to make one text of the other; more than `most` is not counted to its end. */
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
