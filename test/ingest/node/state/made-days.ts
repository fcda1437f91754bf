import { DAY_MS, HOUR_MS, isoDay } from '../../../../infra/days.ts';
import { itemPrefix } from '../../../../ingest/node/state/storage.ts';
import { MadeState } from './made-state.ts';
import { recordedState } from './recorded.ts';
import { StateServer, type StoredBlock } from './state-server.ts';

// A coretime chain over some days, block by block.

const { metadata } = recordedState('coretime-westend');
const FIRST = Date.parse('2026-03-01');
export const hashOf = (height: number) => `0x${height.toString(16).padStart(64, '0')}`;
const now = (time: number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(time));
  return `0x${bytes.toString('hex')}`;
};

/** A block every 35 minutes from noon of the first day on; from the third day on there is a sale. */
export const timeOf = (height: number) => FIRST + 12 * HOUR_MS + height * 35 * 60_000;

const sale = new MadeState(metadata);
sale.put('broker', 'saleInfo', [], { saleStart: 10, price: 5, selloutPrice: null });
sale.put('broker', 'status', [], { coreCount: 18 });

export function made(count: number, prunedBelow = 0): StateServer {
  const blocks: StoredBlock[] = Array.from({ length: count }, (_, height) => {
    const values = new Map(timeOf(height) < FIRST + 2 * DAY_MS ? [] : sale.values);
    if (height > 0) values.set(itemPrefix('Timestamp', 'Now'), now(timeOf(height)));
    // As many accounts as the height.
    for (let n = 0; n < height; n++) values.set(accountKey(n), '0x00');
    return { height, hash: hashOf(height), values, isPruned: height < prunedBelow };
  });
  return new StateServer(blocks, () => metadata);
}
const ACCOUNTS = itemPrefix('System', 'Account');
const accountKey = (n: number) => `${ACCOUNTS}${n.toString(16).padStart(96, '0')}`;

/** The last height of each day, found by looking at all. */
export function lastHeights(count: number): Map<string, number> {
  return new Map(Array.from({ length: count }, (_, height) => [isoDay(timeOf(height)), height]));
}
