import { fieldsOfEvent } from './event-fields.ts';
import { palletName, pascalCase } from './names.ts';
import { RENAMED_EVENTS } from './renamed.ts';

// Converts event data that archives write as objects into lists. The order comes from the names, because some archives sort the fields.

const REGION_SPLIT = ['old_region_id', 'new_region_ids'];
const CURATOR = ['bounty_id', 'curator'];

/** Field names of the metadata, for events whose fields `event-fields.ts` lacks or names differently. */
const METADATA_NAMES: Readonly<Record<string, readonly string[]>> = {
  'staking.Rewarded': ['stash', 'dest', 'amount'],
  'broker.Partitioned': REGION_SPLIT,
  'broker.Interlaced': REGION_SPLIT,
  'bounties.CuratorProposed': CURATOR,
  'bounties.CuratorAccepted': CURATOR,
  'bounties.CuratorUnassigned': ['bounty_id'],
  'bounties.BountyRejected': ['index', 'bond'],
  'bounties.BountyAwarded': ['index', 'beneficiary'],
  'bounties.BountyClaimed': ['index', 'payout', 'beneficiary'],
  'multisig.MultisigExecuted': ['approving', 'timepoint', 'multisig', 'call_hash', 'result'],
  'recovery.RecoveredAccountControlled': ['recovered', 'inheritor', 'call_hash', 'call_result'],
  'system.ExtrinsicFailed': ['dispatch_error', 'dispatch_info'],
  'utility.BatchInterrupted': ['index', 'error'],
};

/** Field names in archives that `event-fields.ts` names differently. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['region_id', 'region'],
  // The former name.
  ['regular_price', 'end_price'],
]);

/**
 * The values of an event by position. Sorts the fields of an object by the metadata if all names are known, and keeps their
 * order otherwise. `pallet` and `event` may have any spelling.
 */
export function byPosition(
  pallet: string,
  event: string,
  data: Readonly<Record<string, unknown>>,
): unknown[] {
  const names = namesOf(palletName(pallet), pascalCase(event));
  const placed = Object.entries(data).map(([given, value]) => {
    const name = snake(given);
    return { place: names.indexOf(OTHER_NAMES.get(name) ?? name), value };
  });
  if (placed.every(({ place }) => place >= 0)) placed.sort((a, b) => a.place - b.place);
  return placed.map(({ value }) => value);
}

function namesOf(pallet: string, given: string): readonly string[] {
  const name = `${pallet}.${RENAMED_EVENTS[`${pallet}.${given}`] ?? given}`;
  if (Object.hasOwn(METADATA_NAMES, name)) return METADATA_NAMES[name] as readonly string[];
  return (fieldsOfEvent(name) ?? []).map(([field]) => field);
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
