import { type AccountKey, parseAccount } from './accounts.ts';
import type { PlacedEvent } from './calls.ts';
import type { Input } from './input.ts';
import { isArray, isObject, type Json } from './json.ts';
import { parseAmount, parseIndex } from './numbers.ts';
import { CHAINS, type Chain } from './registry.ts';
import { compareKeys, type TimedBlock, timedBlocks } from './rows.ts';
import { Payload, snapshotsOf } from './snapshots.ts';

/** Events of the coretime broker with their fields named. */

export type RegionId = { readonly begin: number; readonly core: number; readonly mask: string };

/** Where an event was emitted. */
export type Emitted = {
  readonly block: TimedBlock;
  readonly chain: Chain;
  readonly event: PlacedEvent;
  readonly extrinsicId: string | null;
};

export type Sale = Emitted & {
  readonly saleStart: number;
  readonly leadin: number;
  readonly startPrice: bigint;
  readonly endPrice: bigint;
  readonly begin: number;
  readonly end: number;
  readonly idealSold: number;
  readonly offered: number;
};

export type Spend = Emitted & {
  readonly type: 'bulk' | 'renewal';
  readonly who: AccountKey;
  readonly price: bigint;
  readonly begin: number;
  readonly core: number;
  readonly duration: number;
  readonly mask: string | null;
};

/** The relay chains that have a coretime chain here, by name. */
export function coretimeRelays(relays: readonly string[]): readonly string[] {
  return relays.filter((relay) => coretimeChain(relay) !== undefined).toSorted();
}

export function coretimeChain(relay: string): Chain | undefined {
  return CHAINS.find((chain) => chain.relay === relay && chain.role === 'coretime');
}

/** The broker's events of a relay chain's coretime chain, by height and place. */
export function brokerEvents(input: Input, relay: string): readonly Emitted[] {
  return timedBlocks(input.blocks)
    .filter(({ chain }) => chain.relay === relay && chain.role === 'coretime')
    .toSorted((a, b) => compareKeys([a.height], [b.height]))
    .flatMap((block) =>
      block.events
        .filter(({ pallet }) => pallet === 'broker')
        .map((event) => ({
          block,
          chain: block.chain,
          event,
          extrinsicId: event.extrinsic === null ? null : `${block.height}-${event.extrinsic}`,
        })),
    );
}

/** The sales of a relay chain; of several that begin at one timeslice the last. */
export function salesOf(input: Input, relay: string): readonly Sale[] {
  return brokerEvents(input, relay)
    .filter(({ event }) => event.method === 'SaleInitialized')
    .map((emitted) => {
      const { data } = emitted.event;
      return {
        ...emitted,
        saleStart: whole(data[0]),
        leadin: whole(data[1]),
        startPrice: planck(data[2]),
        endPrice: planck(data[3]),
        begin: whole(data[4]),
        end: whole(data[5]),
        idealSold: whole(data[6]),
        offered: whole(data[7]),
      };
    });
}

/** What was paid for bulk coretime, in the order in which it was. */
export function spendsOf(input: Input, relay: string): readonly Spend[] {
  return brokerEvents(input, relay).flatMap((emitted): readonly Spend[] => {
    const { method, data } = emitted.event;
    if (method === 'Purchased') {
      const { begin, core, mask } = regionAt(data[1]);
      const [who, price, duration] = [account(data[0]), planck(data[2]), whole(data[3])];
      return [{ ...emitted, type: 'bulk', who, price, begin, core, mask, duration }];
    }
    if (method !== 'Renewed') return [];
    const [who, price, duration] = [account(data[0]), planck(data[1]), whole(data[5])];
    const [core, begin] = [whole(data[3]), whole(data[4])];
    return [{ ...emitted, type: 'renewal', who, price, begin, core, mask: null, duration }];
  });
}

/** What the broker's state said of the sale that begins at this timeslice, when it last did. */
export function stateOfSale(input: Input, relay: string, begin: number): Payload | null {
  const states = snapshotsOf(input, 'coretime_config')
    .filter(({ chain }) => chain === coretimeChain(relay)?.name)
    .map(({ payload }) => new Payload(payload).inner('sale_info'));
  return states.findLast((sale) => sale.index('region_begin') === begin) ?? null;
}

export function regionAt(value: Json | undefined): RegionId {
  const region = isObject(value) ? value : {};
  return { begin: whole(region.begin), core: whole(region.core), mask: String(region.mask).toLowerCase() };
}

export function regionsAt(value: Json | undefined): readonly RegionId[] {
  return isArray(value) ? value.map(regionAt) : [];
}

export function account(value: Json | undefined): AccountKey {
  return checked(parseAccount(value));
}

export function planck(value: Json | undefined): bigint {
  return checked(parseAmount(value));
}

export function whole(value: Json | undefined): number {
  return checked(parseIndex(value));
}

function checked<T>(value: T | null): T {
  if (value === null) throw new Error('an event of the broker was read before its shape was checked');
  return value;
}
