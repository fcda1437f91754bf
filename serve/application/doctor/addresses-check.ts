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

/** Whether stored blocks may be of another chain: their addresses have another prefix than those of the chain. */
export async function checkAddresses(store: Pick<Store, 'rows'>, registry: Registry): Promise<Finding[]> {
  const printed = await readPrintedPrefixes(store).catch((error) => reasonOf(error));
  if (typeof printed === 'string')
    return [warning(CHECK, `they were not looked at: ${printed}`, 'try again when the store has less to do')];
  if (printed.length === 0) return [];
  const foreign = printed.filter(({ chain, prefix }) => {
    const known = registry.find(chain);
    return known !== undefined && known.ss58_prefix !== prefix;
  });
  if (foreign.length === 0) return [fine(CHECK, 'they have the prefix of their chain')];
  const words = ({ chain, prefix, addresses }: PrintedPrefix) =>
    `${plural(addresses, 'address', 'addresses')} of ${chain} with ${describePrefix(registry, prefix)}, and not ${registry.find(chain)?.ss58_prefix}`;
  const isUsual = (one: PrintedPrefix) => isCommonForeignPrefix(registry, one, one.prefix);
  const usual = foreign.filter(isUsual);
  const doubtful = foreign.filter((one) => !isUsual(one)).slice(0, FINDINGS_MAX);
  return [
    ...doubtful.map((one) =>
      warning(
        CHECK,
        `of the blocks that were looked at: ${words(one)}`,
        'where blocks of another chain were loaded, remove them: see "Blocks of another chain" in the guide "Load a chain from nothing"; otherwise their source prints this prefix for every chain, which changes nothing',
      ),
    ),
    ...(usual.length > 0
      ? [fine(CHECK, `likely their source prints one prefix for every chain: ${usual.map(words).join('; ')}`)]
      : []),
  ];
}
