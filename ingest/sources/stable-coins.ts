import type { Subject } from './snapshot-line.ts';

/** Coins by their ids on an asset hub. */
export const COINS = [
  { coin: 'coin_a', asset_id: '1337', symbol: 'USDC' },
  { coin: 'coin_b', asset_id: '1984', symbol: 'USDT' },
];

/** Reason why a hub has no snapshot of stable coins. */
export const NO_COIN = `the chain has neither ${COINS.map(({ asset_id, symbol }) => `${symbol} (${asset_id})`).join(' nor ')}`;

/** Compares a symbol, in hex or as text, because another hub may use the id for another asset. */
export function hasSymbol(stored: string, symbol: string): boolean {
  const plain = stored.startsWith('0x') ? Buffer.from(stored.slice(2), 'hex').toString('utf8') : stored;
  return plain.toUpperCase() === symbol;
}

/** Ids of the other parachains in the registry with the same relay chain. */
export const siblingsOf = ({ chain, registry }: Subject): number[] =>
  registry.chains.flatMap(({ relay_chain, para_id }) =>
    relay_chain === chain.relay_chain && para_id !== null && para_id !== chain.para_id ? [para_id] : [],
  );

/** Key of the account that a parachain has on its sibling chains. */
export function siblingAccount(paraId: number): Buffer {
  const key = Buffer.alloc(32);
  key.write('sibl', 'latin1');
  key.writeUInt32LE(paraId, 4);
  return key;
}
