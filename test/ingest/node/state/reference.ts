import { expandMetadata, Metadata, TypeRegistry } from '@polkadot/types';
import type { StoredBlock } from './state-server.ts';

// The kinds of snapshots computed slowly, from whole lists of pairs that @polkadot/types decodes.

// biome-ignore lint/suspicious/noExplicitAny: values of a runtime have no types here.
type Value = any;

export class Reference {
  readonly #registry = new TypeRegistry();
  readonly #query: Value;
  readonly #consts: Value;
  readonly #values: ReadonlyMap<string, string>;

  constructor(metadata: string, { values }: Pick<StoredBlock, 'values'>) {
    const read = new Metadata(this.#registry, metadata as `0x${string}`);
    this.#registry.setMetadata(read);
    const { query, consts } = expandMetadata(this.#registry, read);
    const prefix = Number((consts as Value).system.ss58Prefix);
    this.#registry.setChainProperties(
      this.#registry.createType('ChainProperties', { ss58Format: prefix }) as Value,
    );
    [this.#query, this.#consts] = [query, consts];
    this.#values = values;
  }

  /** All entries of a map: the parts of the key, and the value. */
  entries(pallet: string, item: string): { readonly args: Value[]; readonly value: Value }[] {
    const entry = this.#query[pallet][item];
    const prefix = hex(entry.keyPrefix());
    return [...this.#values].flatMap(([key, stored]) => {
      if (!key.startsWith(prefix)) return [];
      const storageKey = this.#registry.createType('StorageKey', key) as Value;
      storageKey.setMeta(entry.meta, pallet, item);
      return [{ args: [...storageKey.args], value: this.#decoded(entry.meta, stored) }];
    });
  }

  value(pallet: string, item: string, ...args: unknown[]): Value {
    const entry = this.#query[pallet][item];
    // A stored key has the length of the key before it.
    const key = `0x${hex(entry(...args)).replace(/^0x/, '')}`;
    const stored = this.#values.get(withoutLength(key, hex(entry.keyPrefix())));
    if (stored !== undefined) return this.#decoded(entry.meta, stored);
    return entry.meta.modifier.isOptional ? null : this.#decoded(entry.meta, entry.meta.fallback.toHex());
  }

  constant(pallet: string, name: string): Value {
    return this.#consts[pallet][name];
  }

  account(bytes: Uint8Array): string {
    return (this.#registry.createType('AccountId32', bytes) as Value).toString();
  }

  #decoded(meta: Value, stored: string): Value {
    const type = meta.type.isPlain ? meta.type.asPlain : meta.type.asMap.value;
    const bytes = Buffer.from(stored.slice(2), 'hex');
    return this.#registry.createTypeUnsafe(this.#registry.createLookupType(type), [new Uint8Array(bytes)]);
  }
}

const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`;
const withoutLength = (key: string, prefix: string) => `0x${key.slice(key.indexOf(prefix.slice(2)))}`;

const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n);

/** The account of a pool that stakes: `modl`, the pallet's id, 0 and the number of the pool. */
function poolAccount(reference: Reference, id: Value): string {
  const palletId = reference.constant('nominationPools', 'palletId').toU8a();
  const number = Buffer.alloc(4);
  number.writeUInt32LE(id.toNumber());
  return reference.account(
    Buffer.concat([Buffer.from('modl'), palletId, Buffer.of(0), number, Buffer.alloc(15)]),
  );
}

/** The payloads of a relay chain. */
export function relayPayloads(reference: Reference): Record<string, object> {
  const ledgers = reference.entries('staking', 'ledger').map(({ value }) => value.unwrapOr?.(null) ?? value);
  const pools = reference
    .entries('nominationPools', 'bondedPools')
    .map(({ args: [id] }) => poolAccount(reference, id));
  const members = reference
    .entries('nominationPools', 'poolMembers')
    .map(({ args: [who] }) => who.toString());
  const stashes = ledgers.map(({ stash }) => stash.toString()).filter((stash) => !pools.includes(stash));
  const active = [...reference.value('session', 'validators')].map(String);
  const nominators = reference.entries('staking', 'nominators').length;
  const validators = reference.entries('staking', 'validators').map(({ args: [who] }) => who.toString());
  const pot = reference.account(
    Buffer.concat([
      Buffer.from('modl'),
      reference.constant('treasury', 'palletId').toU8a(),
      Buffer.alloc(20),
    ]),
  );
  const potOf = reference.entries('system', 'account').find(({ args: [who] }) => who.toString() === pot)
    ?.value.data;
  return {
    staking_state: {
      active_era: reference.value('staking', 'activeEra').index.toNumber(),
      validators: active.length,
      nominators,
      pools: pools.length,
      pool_members: members.length,
      addresses_staking: new Set([...stashes, ...members]).size,
      staked: String(sum(ledgers.map((ledger) => ledger.active.toBigInt()))),
      staked_in_pools: String(
        sum(
          ledgers
            .filter(({ stash }) => pools.includes(stash.toString()))
            .map((ledger) => ledger.active.toBigInt()),
        ),
      ),
      unbonding: String(sum(ledgers.map(({ total, active }) => BigInt(total) - BigInt(active)))),
      min_active_stake: reference.value('staking', 'minimumActiveStake').toString(),
    },
    validator_set: {
      active,
      waiting: validators.filter((validator) => !active.includes(validator)).length,
      nominators,
    },
    issuance: issuanceOf(reference),
    treasury_balance: {
      balances: [
        {
          account: pot,
          asset: 'PAS',
          decimals: 10,
          amount: String(potOf.free.toBigInt() + potOf.reserved.toBigInt()),
        },
      ],
    },
    delegations: {
      delegations: reference
        .entries('convictionVoting', 'votingFor')
        .flatMap(({ args: [who, track], value }) => {
          if (!value.isDelegating) return [];
          const { target, conviction, balance } = value.asDelegating;
          return [
            {
              delegator: who.toString(),
              target: target.toString(),
              track: track.toNumber(),
              conviction: conviction.index,
              balance: balance.toString(),
            },
          ];
        }),
    },
    account_count: { count: reference.entries('system', 'account').length },
  };
}

const issuanceOf = (reference: Reference) => ({
  total: reference.value('balances', 'totalIssuance').toString(),
  inactive: reference.value('balances', 'inactiveIssuance').toString(),
});

/** The payload of a coretime chain; null before its first sale. */
export function coretimePayload(reference: Reference): object | null {
  const sale =
    reference.value('broker', 'saleInfo')?.unwrapOr?.(null) ?? reference.value('broker', 'saleInfo');
  if (sale === null) return null;
  return {
    sale_info: {
      sale_start: sale.saleStart.toNumber(),
      leadin_length: sale.leadinLength.toNumber(),
      end_price: (sale.endPrice ?? sale.price).toString(),
      region_begin: sale.regionBegin.toNumber(),
      region_end: sale.regionEnd.toNumber(),
      ideal_cores_sold: sale.idealCoresSold.toNumber(),
      cores_offered: sale.coresOffered.toNumber(),
      first_core: sale.firstCore.toNumber(),
      sellout_price: sale.selloutPrice.isSome ? sale.selloutPrice.unwrap().toString() : null,
      cores_sold: sale.coresSold.toNumber(),
    },
    reservations: reference.value('broker', 'reservations').map((schedule: Value) =>
      schedule.map(({ mask, assignment }: Value) => ({
        mask: mask.toHex(),
        assignment: assignment.isTask
          ? { task: assignment.asTask.toString() }
          : { [assignment.type.toLowerCase()]: null },
      })),
    ),
    leases: reference.value('broker', 'leases').map(({ task, until }: Value) => ({
      task: task.toNumber(),
      until: until.toNumber(),
    })),
    core_count: reference.value('broker', 'status').coreCount.toNumber(),
  };
}
