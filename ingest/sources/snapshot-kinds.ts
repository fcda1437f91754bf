import pMap from 'p-map';
import { z } from 'zod';
import { encodeAddress } from '../chains/address.ts';
import type { Chain } from '../chains/chain.ts';
import type { Registry } from '../chains/registry.ts';
import type { SnapshotKind } from '../decode/snapshot.ts';

// What a service can say of a chain's state, kind by kind. A kind is taken whole or not at all: a field that no
// route gives is a reason not to send it, never a zero.

/** Asks the service about one block: everything in a snapshot is of the same moment. */
export interface SnapshotMoment {
  read<T>(path: string, schema: z.ZodType<T>): Promise<T>;
}

export interface Subject {
  readonly chain: Chain;
  readonly registry: Registry;
  /** Accounts whose balances are the treasury. */
  readonly treasury: readonly string[];
}

interface KindOfSource {
  readonly kind: SnapshotKind;
  readonly isOf: (subject: Subject) => boolean;
  /** The payload, or a failure that says what is not given. */
  readonly take: (moment: SnapshotMoment, subject: Subject) => Promise<object>;
}

const count = z
  .union([z.string().regex(/^\d+$/), z.number()])
  .transform(Number)
  .pipe(z.int().min(0));
const amount = z.union([z.string().regex(/^\d+$/), z.int().min(0).transform(String)]);
const text = z.string();

/** What a pallet keeps under a name, as the service writes it; of a map only what is kept under a given key. */
async function stored<T>(
  moment: SnapshotMoment,
  pallet: string,
  item: string,
  value: z.ZodType<T>,
): Promise<T> {
  return (await moment.read(`/pallets/${pallet}/storage/${item}`, z.object({ value }))).value;
}

const validatorSet: KindOfSource = {
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

/** Counters and the stake of an era have routes; what is spread over the ledgers of all stashes has none. */
const stakingState: KindOfSource = {
  kind: 'staking_state',
  isOf: ({ chain }) => chain.staking !== null,
  take: async () => {
    throw new Error(
      'addresses_staking and unbonding are sums over all ledgers, which no route lists; the others alone make no snapshot',
    );
  },
};

const issuance: KindOfSource = {
  kind: 'issuance',
  // Where staking lives, its token does.
  isOf: ({ chain }) => chain.staking !== null,
  take: async (moment) => ({
    total: await stored(moment, 'balances', 'totalIssuance', amount),
    inactive: await stored(moment, 'balances', 'inactiveIssuance', amount),
  }),
};

const COINS = [
  { coin: 'coin_a', asset_id: '1337', symbol: 'USDC' },
  { coin: 'coin_b', asset_id: '1984', symbol: 'USDT' },
];

const assetInfo = z.object({
  assetInfo: z.object({ supply: amount }).nullable(),
  assetMetaData: z.object({ symbol: text, decimals: count }).nullable(),
});

const stableHoldings: KindOfSource = {
  kind: 'stable_holdings',
  isOf: ({ chain }) => chain.role === 'asset-hub',
  take: async (moment, subject) => {
    const holdings: { coin: string; asset_id: string; decimals: number; issuance: string }[] = [];
    for (const { coin, asset_id, symbol } of COINS) {
      const info = await moment.read(`/pallets/assets/${asset_id}/asset-info`, assetInfo);
      // The same number may be another asset on another hub.
      if (!info.assetInfo || !info.assetMetaData || !isCalled(info.assetMetaData.symbol, symbol)) continue;
      const { decimals } = info.assetMetaData;
      holdings.push({ coin, asset_id, decimals, issuance: info.assetInfo.supply });
    }
    const wanted = COINS.map(({ asset_id, symbol }) => `${symbol} (${asset_id})`).join(' nor ');
    if (holdings.length === 0) throw new Error(`the chain has neither ${wanted}`);
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

/** A symbol is hex in the storage, and sometimes text in an answer. */
function isCalled(given: string, symbol: string): boolean {
  const plain = given.startsWith('0x') ? Buffer.from(given.slice(2), 'hex').toString('utf8') : given;
  return plain.toUpperCase() === symbol;
}

const REQUESTS_AT_ONCE = 4;
const assetBalances = z.object({ assets: z.array(z.object({ assetId: text, balance: amount })) });

/** What backs the coins on other chains: the balances of the sibling parachains that the registry knows. */
async function sovereignBalances(
  moment: SnapshotMoment,
  { chain, registry }: Subject,
  assets: readonly string[],
) {
  const query = assets.map((id) => `assets[]=${id}`).join('&');
  const siblings = registry.chains.filter(
    ({ relay_chain, para_id }) =>
      relay_chain === chain.relay_chain && para_id !== null && para_id !== chain.para_id,
  );
  const answers = await pMap(
    siblings,
    ({ para_id }) => {
      const account = encodeAddress(siblingAccount(para_id as number), chain.ss58_prefix);
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

/** The account by which a parachain is known to its siblings. */
function siblingAccount(paraId: number): string {
  const key = Buffer.alloc(32);
  key.write('sibl', 'latin1');
  key.writeUInt32LE(paraId, 4);
  return `0x${key.toString('hex')}`;
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

/** From the pallet's storage: `/coretime/info` lacks the end price and the ideal sale, and reservations lose their cores. */
const coretimeConfig: KindOfSource = {
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

const treasuryBalance: KindOfSource = {
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

export const KINDS: readonly KindOfSource[] = [
  validatorSet,
  stakingState,
  issuance,
  stableHoldings,
  coretimeConfig,
  treasuryBalance,
];
