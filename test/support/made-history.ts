import type { Store } from '../../infra/ports.ts';
import { raw, sql } from '../../infra/sql.ts';
import { blocks, calls, events, extrinsics } from '../../ingest/raw/tables.ts';

export interface MadeHistory {
  /** Over all chains. */
  readonly blocks: number;
  readonly chains: readonly string[];
  readonly relay_chain: string;
  /** The first day, and how many days the blocks are spread over. */
  readonly from: string;
  readonly days: number;
  /** Number of the first block, 0 when absent. */
  readonly first?: number;
  /** Extrinsics of each block, a transfer with its event each; 1 when absent. */
  readonly extrinsics?: number;
}

/**
 * Writes blocks with transfers straight into the raw tables, by the engine itself: no metric is computed of them,
 * so what grows with them reads raw rows.
 */
export async function writeHistory(store: Store, history: MadeHistory): Promise<void> {
  const { chains, relay_chain, from, days, first = 0, extrinsics: perBlock = 1 } = history;
  const perChain = Math.ceil(history.blocks / chains.length);
  const milliseconds = Math.floor((days * 86_400_000) / perChain);
  const block =
    raw(`${sql`${relay_chain}`.text} AS relay_chain, [${chains.map((chain) => `'${chain}'`).join(', ')}][1 + n % ${chains.length}] AS chain,
    intDiv(n, ${chains.length}) AS number,
    toDateTime64('${from}', 3, 'UTC') + toIntervalMillisecond(toInt64(intDiv(n - ${first}, ${chains.length})) * ${milliseconds}) AS time, toUInt128(n + 1) AS rank`);
  const numbers = `FROM (SELECT number + ${first} AS n FROM numbers(${perChain * chains.length}))`;
  const settings = 'SETTINGS max_partitions_per_insert_block = 0';
  const all = raw(`${numbers} ${settings}`);
  const transfers = raw(`${numbers} ARRAY JOIN range(1, ${perBlock + 1}) AS i ${settings}`);
  await store.run(sql`INSERT INTO ${blocks}
      (relay_chain, chain, number, time, rank, hash, parent_hash, finalized, extrinsics, events, received_at)
    SELECT ${block}, concat('0x', hex(sipHash128(chain, number))), concat('0x', hex(sipHash128(chain, number - 1))),
      1, ${perBlock}, ${perBlock}, time ${all}`);
  const key = `unhex(repeat(hex(toUInt64((n * ${perBlock} + i) % 100000)), 4))`;
  await store.run(sql`INSERT INTO ${extrinsics}
      (relay_chain, chain, number, time, rank, extrinsic_index, pallet, call, pallet_written, signed, signer_key, success,
       succeeded, fee, domain)
    SELECT ${block}, i, 'balances', 'transferKeepAlive', 'balances', 1, ${raw(key)}, 1, 1, 100000000, 'Assets' ${transfers}`);
  await store.run(sql`INSERT INTO ${events}
      (relay_chain, chain, number, time, rank, event_index, phase, extrinsic_index, pallet, event, account, amount)
    SELECT ${block}, i - 1, 'extrinsic', i, 'balances', 'Transfer', ${raw(key)}, 1 ${transfers}`);
  await store.run(sql`INSERT INTO ${calls}
      (relay_chain, chain, number, time, rank, extrinsic_index, pallet, call, actor)
    SELECT ${block}, i, 'polkadotXcm', 'send', ${raw(key)} ${transfers}`);
}
