import type { Network } from '../../ingest/demo/network.ts';
import type { Random } from '../../ingest/demo/random.ts';
import { chainNamed } from '../reference/registry.ts';
import { printed } from './accounts.ts';
import type { OddBlocks } from './odd-blocks.ts';
import { snapshotLine } from './snapshots.ts';

/** What the state of a chain says of the models, in all shapes, and not always the truth. */
export class OddStates {
  readonly #random: Random;
  readonly #networks: ReadonlyMap<string, Network>;
  readonly #blocks: OddBlocks;

  constructor(random: Random, networks: readonly Network[], blocks: OddBlocks) {
    this.#random = random;
    this.#networks = new Map(networks.map((network) => [network.relay, network]));
    this.#blocks = blocks;
  }

  delegations(relay: string, time: number): string {
    const chain = chainNamed(relay);
    const state = this.#of(relay).governance.state((key) => printed(this.#random, key, chain));
    return snapshotLine('delegations', relay, time, state);
  }

  coretime(relay: string, time: number): string {
    const random = this.#random;
    const state = this.#of(relay).coretime() as { sale_info: object; reservations: object[] };
    const sellout_price = random.chance(0.5) ? null : String(random.whole(1, 10 ** 9));
    const pooled = [{ mask: `0x${'f'.repeat(20)}`, assignment: 'Pool' }];
    const reservations = state.reservations.map((one) => (random.chance(0.3) ? pooled : one));
    const some = reservations.slice(random.whole(0, reservations.length));
    const sale_info = { ...state.sale_info, sellout_price };
    return snapshotLine('coretime_config', `coretime-${relay}`, time, {
      ...{ ...state, sale_info, reservations: some },
    });
  }

  contracts(relay: string, time: number): string {
    const stated = this.#of(relay).contracts(Math.floor(time / 86_400_000));
    const hub = `asset-hub-${relay}`;
    return snapshotLine('contract_code', hub, time, this.#blocks.contractsOf(chainNamed(hub)).state(stated));
  }

  /** Children get the numbers from 0 on within their parent. What is told of it may leave some out, or be wrong. */
  renumbered(relay: string): object {
    const random = this.#random;
    const written = (id: number) => (random.chance(0.5) ? id : String(id));
    const { ids } = this.#of(relay).bounties.renumber();
    const told = new Map(
      ids.map((entry) => {
        const old = this.#blocks.childNumber(entry.old);
        // Of several with one number only the last is still named.
        return [`${entry.parent}/${old}`, { ...entry, old }];
      }),
    );
    const unseen = random.chance(0.2) ? [{ parent: 60, old: 10 ** 6, new: 99 }] : [];
    const kept = [...told.values(), ...unseen].filter(() => !random.chance(0.1));
    const repeated = random.chance(0.1) ? kept.slice(0, 1) : [];
    const entries = [...kept, ...repeated];
    return {
      ids: entries.map((entry) => ({
        ...{ parent: written(entry.parent), old: written(entry.old), new: written(entry.new) },
      })),
    };
  }

  #of(relay: string): Network {
    return this.#networks.get(relay) as Network;
  }
}
