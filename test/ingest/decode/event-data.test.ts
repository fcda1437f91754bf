import { expect, test } from 'vitest';
import { byPosition } from '../../../ingest/decode/event-data.ts';

test.each([
  ['balances', 'Transfer', { to: 'b', from: 'a', amount: 1 }, ['a', 'b', 1]],
  ['Balances', 'transfer', { amount: 1, to: 'b', from: 'a' }, ['a', 'b', 1]],
  ['staking', 'Reward', { amount: 1, stash: 'a' }, ['a', 1]],
  ['staking', 'Rewarded', { dest: 'x', amount: 1, stash: 'a' }, ['a', 'x', 1]],
  ['nominationPools', 'PaidOut', { member: 'a', payout: 3, poolId: 7 }, ['a', 7, 3]],
  ['broker', 'Purchased', { who: 'a', price: 3, duration: 4, region_id: 2 }, ['a', 2, 3, 4]],
  ['broker', 'Partitioned', { new_region_ids: [1, 2], old_region_id: 0 }, [0, [1, 2]]],
  [
    'broker',
    'SaleInitialized',
    { cores_offered: 6, regular_price: 4, sale_start: 1, start_price: 3, leadin_length: 2 },
    [1, 2, 3, 4, 6],
  ],
  ['multisig', 'MultisigExecuted', { result: 'Ok', multisig: 'm', approving: 'a' }, ['a', 'm', 'Ok']],
])('the fields of %s.%s stand where the metadata has them', (pallet, event, data, expected) => {
  expect(byPosition(pallet, event, data)).toEqual(expected);
});

test.each([
  ['balances', 'Transfer', { to: 'b', from: 'a', value: 1 }],
  ['nobody', 'Knows', { b: 1, a: 2 }],
  ['toString', 'constructor', { b: 1, a: 2 }],
])('the fields of %s.%s keep their order where not all of their names are known', (pallet, event, data) => {
  expect(byPosition(pallet, event, data)).toEqual(Object.values(data));
});
