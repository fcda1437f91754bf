import { reasonOf } from '../../../infra/errors.ts';
import { type Finding, fine, warning } from '../../../infra/finding.ts';
import { plural } from '../../../infra/format.ts';
import type { Store } from '../../../infra/ports.ts';
import type { Registry } from '../../../ingest/chains/registry.ts';
import {
  describePrefix,
  isCommonForeignPrefix,
  type PrintedPrefix,
  readPrintedPrefixes,
} from '../../../ingest/raw/printed-prefixes.ts';

const CHECK = 'addresses';
const FINDINGS_MAX = 10;

/** Warns about stored blocks that may belong to another chain, because their addresses have another prefix. */
export async function checkAddresses(store: Pick<Store, 'rows'>, registry: Registry): Promise<Finding[]> {
  const printed = await readPrintedPrefixes(store).catch((error) => reasonOf(error));
  if (typeof printed === 'string')
    return [warning(CHECK, `could not be checked: ${printed}`, 'try again when the store is less busy')];
  if (printed.length === 0) return [];
  const foreign = printed.filter(({ chain, prefix }) => {
    const registered = registry.find(chain);
    return registered !== undefined && registered.ss58_prefix !== prefix;
  });
  if (foreign.length === 0) return [fine(CHECK, 'all have the prefix of their chain')];
  const words = ({ chain, prefix, addresses }: PrintedPrefix) =>
    `${plural(addresses, 'address', 'addresses')} of ${chain} with ${describePrefix(registry, prefix)} instead of ${registry.find(chain)?.ss58_prefix}`;
  const isUsual = (printed: PrintedPrefix) => isCommonForeignPrefix(registry, printed, printed.prefix);
  const usual = foreign.filter(isUsual);
  const doubtful = foreign.filter((prefix) => !isUsual(prefix)).slice(0, FINDINGS_MAX);
  return [
    ...doubtful.map((prefix) =>
      warning(
        CHECK,
        `in the checked blocks: ${words(prefix)}`,
        'if you loaded blocks of another chain, remove them: see "Blocks of another chain" in the guide "Load a chain from nothing"; if the source prints this prefix for every chain, the rows are correct',
      ),
    ),
    ...(usual.length > 0
      ? [fine(CHECK, `the source probably prints one prefix for every chain: ${usual.map(words).join('; ')}`)]
      : []),
  ];
}
