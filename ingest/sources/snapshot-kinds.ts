import pMap from 'p-map';
import { z } from 'zod';
import { encodeAddress } from '../chains/address.ts';
import type { SnapshotKind } from '../decode/snapshot.ts';
import type { Subject } from './snapshot-line.ts';
import { COINS, hasSymbol, NO_COIN, siblingAccount, siblingsOf } from './stable-coins.ts';

// The kinds of snapshots that Sidecar can serve. A snapshot is complete or absent: a field without a route is never 0.

/** Reads routes at one block, so that all fields of a snapshot belong to the same state. */
export interface SnapshotMoment {
  read<T>(path: string, schema: z.ZodType<T>): Promise<T>;
}

interface SidecarKind {
  readonly kind: SnapshotKind;
  readonly isOf: (subject: Subject) => boolean;
  /** Returns the payload. Throws an error that names the missing part. */
  readonly take: (moment: SnapshotMoment, subject: Subject) => Promise<object>;
}

const count = z
  .union([z.string().regex(/^\d+$/), z.number()])
  .transform(Number)
  .pipe(z.int().min(0));
const amount = z.union([z.string().regex(/^\d+$/), z.int().min(0).transform(String)]);
const text = z.string();

/** Reads a storage value of a pallet. */
async function stored<T>(
  moment: SnapshotMoment,
  pallet: string,
  item: string,
  value: z.ZodType<T>,
): Promise<T> {
  return (await moment.read(`/pallets/${pallet}/storage/${item}`, z.object({ value }))).value;
}

const validatorSet: SidecarKind = {
  kind: 'validator_set',
  isOf: ({ chain }) => chain.staking !== null,
  take: async (moment) => {
    const { validatorSet } = await moment.read(
      '/pallets/staking/progress',
      z.object({ validatorSet: z.array(text) }),
    );
    const { validators } = await moment.read(
      '/pallets/staking/validators',
      z.object({ validators: z.array(z.object({ status: z.enum(['active', 'waiting']) })) }),
    );
    return {
      active: validatorSet,
      waiting: validators.filter(({ status }) => status === 'waiting').length,
      nominators: await stored(moment, 'staking', 'counterForNominators', count),
    };
  },
};

/** Always unavailable, because no route lists the ledgers. */
const stakingState: SidecarKind = {
  kind: 'staking_state',
  isOf: ({ chain }) => chain.staking !== null,
  take: async () => {
    throw new Error(
      'addresses_staking and unbonding are sums over all staking ledgers, which no route lists: take them from a node',
    );
  },
};

const issuance: SidecarKind = {
  kind: 'issuance',
  // The chain of the staking pallet has the token's issuance too.
  isOf: ({ chain }) => chain.staking !== null,
  take: async (moment) => ({
    total: await stored(moment, 'balances', 'totalIssuance', amount),
    inactive: await stored(moment, 'balances', 'inactiveIssuance', amount),
  }),
};

const assetInfo = z.object({
  assetInfo: z.object({ supply: amount }).nullable(),
  assetMetaData: z.object({ symbol: text, decimals: count }).nullable(),
});

const stableHoldings: SidecarKind = {
  kind: 'stable_holdings',
  isOf: ({ chain }) => chain.role === 'asset-hub',
  take: async (moment, subject) => {
    const holdings: { coin: string; asset_id: string; decimals: number; issuance: string }[] = [];
    for (const { coin, asset_id, symbol } of COINS) {
      const info = await moment.read(`/pallets/assets/${asset_id}/asset-info`, assetInfo);
      // The same number may be another asset on another hub.
      if (!info.assetInfo || !info.assetMetaData || !hasSymbol(info.assetMetaData.symbol, symbol)) continue;
      const { decimals } = info.assetMetaData;
      holdings.push({ coin, asset_id, decimals, issuance: info.assetInfo.supply });
    }
    if (holdings.length === 0) throw new Error(NO_COIN);
    const held = await sovereignBalances(
      moment,
      subject,
      holdings.map(({ asset_id }) => asset_id),
    );
    return {
      holdings: holdings.map((holding) => ({
        ...holding,
        sovereign_held: String(held.get(holding.asset_id)),
      })),
    };
  },
};

const REQUESTS_AT_ONCE = 4;
const assetBalances = z.object({ assets: z.array(z.object({ assetId: text, balance: amount })) });

/** Sums the balances of the sibling parachains in the registry. They back the coins on those chains. */
async function sovereignBalances(moment: SnapshotMoment, subject: Subject, assets: readonly string[]) {
  const query = assets.map((id) => `assets[]=${id}`).join('&');
  const answers = await pMap(
    siblingsOf(subject),
    (paraId) => {
      const account = encodeAddress(`0x${siblingAccount(paraId).toString('hex')}`, subject.chain.ss58_prefix);
      return moment.read(`/accounts/${account}/asset-balances?${query}`, assetBalances);
    },
    { concurrency: REQUESTS_AT_ONCE },
  );
  const held = new Map(assets.map((id) => [id, 0n]));
  for (const { assetId, balance } of answers.flatMap((answer) => answer.assets)) {
    const sum = held.get(assetId);
    if (sum !== undefined) held.set(assetId, sum + BigInt(balance));
  }
  return held;
}

const saleInfo = z.object({
  saleStart: count,
  leadinLength: count,
  endPrice: amount,
  regionBegin: count,
  regionEnd: count,
  idealCoresSold: count,
  coresOffered: count,
  firstCore: count,
  selloutPrice: amount.nullable(),
  coresSold: count,
});
const schedule = z.array(z.object({ mask: text, assignment: z.union([text, z.record(text, z.unknown())]) }));

/** Reads pallet storage, because `/coretime/info` lacks the end price, the ideal sale and the cores of reservations. */
const coretimeConfig: SidecarKind = {
  kind: 'coretime_config',
  isOf: ({ chain }) => chain.role === 'coretime',
  take: async (moment) => {
    const sale = await stored(moment, 'broker', 'saleInfo', saleInfo);
    const lease = z.object({ task: count, until: count });
    return {
      sale_info: {
        sale_start: sale.saleStart,
        leadin_length: sale.leadinLength,
        end_price: sale.endPrice,
        region_begin: sale.regionBegin,
        region_end: sale.regionEnd,
        ideal_cores_sold: sale.idealCoresSold,
        cores_offered: sale.coresOffered,
        first_core: sale.firstCore,
        sellout_price: sale.selloutPrice,
        cores_sold: sale.coresSold,
      },
      reservations: await stored(moment, 'broker', 'reservations', z.array(schedule)),
      leases: await stored(moment, 'broker', 'leases', z.array(lease)),
      core_count: (await stored(moment, 'broker', 'status', z.object({ coreCount: count }))).coreCount,
    };
  },
};

const treasuryBalance: SidecarKind = {
  kind: 'treasury_balance',
  isOf: ({ treasury }) => treasury.length > 0,
  take: async (moment, { chain, treasury }) => ({
    balances: await pMap(
      treasury,
      async (account) => {
        const { free, reserved } = await moment.read(
          `/accounts/${account}/balance-info`,
          z.object({ free: amount, reserved: amount }),
        );
        const sum = BigInt(free) + BigInt(reserved);
        return { account, asset: chain.token, decimals: chain.decimals, amount: sum.toString() };
      },
      { concurrency: REQUESTS_AT_ONCE },
    ),
  }),
};

export const SIDECAR_KINDS: readonly SidecarKind[] = [
  validatorSet,
  stakingState,
  issuance,
  stableHoldings,
  coretimeConfig,
  treasuryBalance,
];
