import { monthOf } from '../calendar.ts';
import { isNamed } from '../calls.ts';
import type { Input } from '../input.ts';
import { allGroups, blocksByChain, distinct, memberOf, type TimedBlock } from '../rows.ts';
import { accountAt } from '../shapes.ts';

export type MonthlyUniqueAccounts = {
  relay_chain: string;
  chain: string;
  month: string;
  number_of_unique_addresses: number;
  number_of_active_addresses: number;
  number_of_new_addresses: number;
};

export function monthlyUniqueAccounts(input: Input): MonthlyUniqueAccounts[] {
  return allGroups(input.blocks, monthOf).map((group) => {
    const active = group.blocks.flatMap(({ chain, extrinsics }) =>
      extrinsics.flatMap(({ signer, evmSender }) => [memberOf(signer, chain), memberOf(evmSender, chain)]),
    );
    const created = accountChanges(group.blocks).filter(({ isAlive }) => isAlive);
    // A chain that is silent in a month still holds its accounts.
    const chains = blocksByChain(input.blocks).filter(([first]) =>
      group.isEcosystem ? first?.chain.relay === group.relay : first?.chain.name === group.chain,
    );
    const alive = chains.flatMap((blocks) =>
      aliveAccounts(blocks.filter(({ time }) => monthOf(time) <= group.period)),
    );
    return {
      relay_chain: group.relay,
      chain: group.chain,
      month: group.period,
      number_of_unique_addresses: distinct(alive).size,
      number_of_active_addresses: distinct(active).size,
      number_of_new_addresses: distinct(created.map(({ key }) => key)).size,
    };
  });
}

/** The accounts of one chain whose last change made them. */
function aliveAccounts(blocks: readonly TimedBlock[]): readonly string[] {
  const lastChange = new Map(accountChanges(blocks).map(({ key, isAlive }) => [key, isAlive]));
  return [...lastChange].filter(([, isAlive]) => isAlive).map(([key]) => key);
}

/** In the order of heights and events. */
function accountChanges(blocks: readonly TimedBlock[]): readonly { key: string; isAlive: boolean }[] {
  return blocks
    .flatMap(({ chain, events }) => events.map((event) => ({ chain, event })))
    .filter(({ event }) => isNamed(event, 'system', 'NewAccount', 'KilledAccount'))
    .map(({ chain, event }) => {
      const account = accountAt(event, 0);
      return { key: memberOf(account, chain) ?? account, isAlive: event.method === 'NewAccount' };
    });
}
