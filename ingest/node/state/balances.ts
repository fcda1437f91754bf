import pMap from 'p-map';
import { z } from 'zod';
import { decodeAddress } from '../../chains/address.ts';
import type { Subject } from '../../sources/snapshot-line.ts';
import { COINS, hasSymbol, NO_COIN, siblingAccount, siblingsOf } from '../../sources/stable-coins.ts';
import { amount, count, palletAccount, u32 } from './shapes.ts';
import type { BlockState } from './state.ts';

const bytesOf = (hex: string) => Buffer.from(hex.slice(2), 'hex');

export async function issuance(state: BlockState): Promise<object> {
  return {
    total: String(amount.parse(await state.value('Balances', 'TotalIssuance'))),
    inactive: String(amount.parse(await state.value('Balances', 'InactiveIssuance'))),
  };
}

export const accountCount = async (state: BlockState): Promise<object> => ({
  count: await state.count('System', 'Account'),
});

const account = z.object({ data: z.object({ free: amount, reserved: amount }) });

/** Balances of the configured treasury accounts, or else of the pallet's account. */
export async function treasuryBalance(state: BlockState, { chain, treasury }: Subject): Promise<object> {
  const accounts =
    treasury.length > 0
      ? treasury.map((address) => ({ address, key: bytesOf(keyOfAddress(address)) }))
      : [palletAccount(state.constant('Treasury', 'PalletId'))].map((key) => ({
          address: state.address(key),
          key,
        }));
  return {
    balances: await pMap(accounts, async ({ address, key }) => {
      const { free, reserved } = account.parse(await state.value('System', 'Account', key)).data;
      const { token: asset, decimals } = chain;
      return { account: address, asset, decimals, amount: String(free + reserved) };
    }),
  };
}

function keyOfAddress(address: string): string {
  const { key } = decodeAddress(address) ?? {};
  if (key === undefined) throw new Error(`${address} is not an address: correct it in --treasury`);
  return key;
}

const asset = z.object({ supply: amount }).nullable();
const metadata = z.object({ symbol: z.string(), decimals: count });
const holding = z.object({ balance: amount }).nullable();

/** The sibling parachains in the registry hold the coins that circulate on those chains. */
export async function stableHoldings(state: BlockState, subject: Subject): Promise<object> {
  const holdings: object[] = [];
  for (const { coin, asset_id, symbol } of COINS) {
    const id = u32(Number(asset_id));
    const found = asset.parse(await state.value('Assets', 'Asset', id));
    if (found === null) continue;
    const named = metadata.parse(await state.value('Assets', 'Metadata', id));
    if (!hasSymbol(named.symbol, symbol)) continue;
    const held = await pMap(siblingsOf(subject), async (paraId) => {
      const stored = await state.value('Assets', 'Account', id, siblingAccount(paraId));
      return holding.parse(stored)?.balance ?? 0n;
    });
    holdings.push({
      coin,
      asset_id,
      decimals: named.decimals,
      issuance: String(found.supply),
      sovereign_held: String(held.reduce((sum, balance) => sum + balance, 0n)),
    });
  }
  if (holdings.length === 0) throw new Error(NO_COIN);
  return { holdings };
}
