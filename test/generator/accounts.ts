import { addr } from 'micro-eth-signer';
import type { Random } from '../../ingest/demo/random.ts';
import { printAccount } from '../reference/accounts.ts';
import { derivativeAccount, multisigAccount } from '../reference/derived.ts';
import { type Chain, chainNamed } from '../reference/registry.ts';

/** Public keys as lowercase hex; the same people act on all chains. */
export type Key = string;

/** Those who sign. */
export const PEOPLE: readonly Key[] = Array.from(
  { length: 16 },
  (_, i) => `0x${(i + 1).toString(16).padStart(2, '0').repeat(32)}`,
);

/** Accounts that nobody has a key of: they act through those who control them. */
export type Derived =
  | { readonly members: readonly [Key, Key]; readonly threshold: 1 | 2 }
  | { readonly parent: Key; readonly index: number };
export const DERIVED: ReadonlyMap<Key, Derived> = new Map([
  ...[0, 5, 9].map((i) => multisig(i, 2)),
  ...[2, 7].map((i) => multisig(i, 1)),
  ...[4, 11].map((i): [Key, Derived] => [
    derivativeAccount(PEOPLE[i] as Key, 7),
    { parent: PEOPLE[i] as Key, index: 7 },
  ]),
]);

function multisig(i: number, threshold: 1 | 2): [Key, Derived] {
  const members = [PEOPLE[i] as Key, PEOPLE[i + 1] as Key] as const;
  return [multisigAccount(members, threshold), { members, threshold }];
}

/** Secret keys of those who send Ethereum transactions, and their addresses. */
export const SECRETS = ['11', '22', '33'].map((byte) => byte.repeat(32));
export const SENDERS: readonly string[] = SECRETS.map((secret) =>
  addr.fromPrivateKey(`0x${secret}`).toLowerCase(),
);
/** The accounts that pallet-revive gives to them. */
export const SENDER_ACCOUNTS: readonly Key[] = SENDERS.map((address) => `${address}${'ee'.repeat(12)}`);

/** A key that stands for an address of Ethereum. */
export const PADDED: Key = `0x${'ab'.repeat(20)}${'ee'.repeat(12)}`;

export const H160S: readonly string[] = Array.from(
  { length: 6 },
  (_, i) => `0x${(0xa0 + i).toString(16).repeat(20)}`,
);

/** With the prefix that every chain understands. */
export const GENERIC: Chain = { ...chainNamed('polkadot'), addresses: 42 };

/** An account as sources print it: mostly with the prefix of its chain, at times with another. */
export function printed(random: Random, key: Key, chain: Chain): string {
  return printAccount(key, random.chance(0.15) ? GENERIC : chain);
}

/** A signer or another multi-address, in one of its shapes. */
export function multiAddress(random: Random, key: Key, chain: Chain): unknown {
  const address = printed(random, key, chain);
  return random.chance(0.3) ? address : { id: address };
}
