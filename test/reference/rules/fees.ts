import type { ShapedEvent, ShapedExtrinsic } from '../shaped.ts';
import { ALICE, feePaid, general, Rule, remark, SUMMARY } from './rule.ts';

// The fee of each extrinsic, signed or not, and the sums of days in which some are unknown.

const fees = (planck: string | null, paying: number, unknown: number) => ({
  total_fees_planck: planck,
  num_fee_paying: paying,
  fee_unknown: unknown,
});
const estimate = (partialFee: string, kind = 'postDispatch') => ({ info: { partialFee, kind } });
const inAsset: ShapedEvent = ['assetTxPayment.AssetTxFeePaid', ALICE, '9', '0', {}];
const inGas: ShapedEvent = ['pgas.PGASFeePaid', ALICE, '21000'];

const relay = new Rule('polkadot', { number: 1000, day: '2024-01-01' });
const one = (title: string, row: object, ...extrinsics: ShapedExtrinsic[]) =>
  relay.extrinsics(...extrinsics).day(title, 'daily-fees', row as never);

one('a general transaction with its event', fees('160', 1, 0), general({ events: [feePaid('160')] }));
relay.day('is a transaction without a signature', 'daily-tps', {
  num_transactions_combined: 1,
  num_transactions_signed: 0,
  evm_num_transactions: 0,
  fees: 1.6e-8,
});
relay.day('and no account', SUMMARY, { num_accounts_active_signed: 0, num_transactions_combined: 1 });
one(
  'a general transaction without an event',
  { ...fees(null, 0, 1), total_fees: null, avg_fee: null },
  general(),
);
relay.day('leaves the fees of its day unknown', SUMMARY, { fees: null, fees_usd: null, treasury: 0 });
one('a general transaction that pays no fee', fees('0', 0, 0), general({ paysFee: false }));
one('a general transaction of which nobody says that it pays', fees(null, 0, 1), general({ paysFee: null }));
one('an estimate is nothing for a general transaction', fees(null, 0, 1), general(estimate('5')));
one(
  'an unknown fee beside a known one',
  { ...fees('7', 1, 1), avg_fee: 7e-10 },
  general(),
  remark({ events: [feePaid('7')] }),
);
one(
  'an unknown fee beside a known 0',
  { ...fees('0', 0, 1), avg_fee: null },
  general(),
  remark({ paysFee: false }),
);
one('an unknown fee beside one in another asset', fees('0', 0, 1), general(), remark({ events: [inGas] }));
one('only inherents', fees('0', 0, 0));
one('an unsigned extrinsic with an event', fees('5', 1, 0), { call: 'claims.claim', events: [feePaid('5')] });
one(
  'four fields',
  fees('2490128143', 1, 0),
  remark({ ...estimate('1'), events: [feePaid('2490128143', '0', '3')] }),
);
one(
  'five fields are no fact',
  fees('11', 1, 0),
  remark({ ...estimate('11'), events: [feePaid('1', '0', '0', '0')] }),
);
one(
  'two fields are no fact either',
  fees(null, 0, 1),
  general({ events: [['transactionPayment.TransactionFeePaid', ALICE, '5']] }),
);
one(
  'and the next event is the first one',
  fees('6', 1, 0),
  general({ events: [feePaid('x'), feePaid('6'), feePaid('8')] }),
);
one(
  'a fee in another asset, whatever the estimate',
  fees('0', 0, 0),
  remark({ ...estimate('160'), events: [inGas] }),
);
one('of a general transaction', fees('0', 0, 0), general({ events: [inAsset] }));
one('of an inherent', fees('0', 0, 0), { call: 'claims.claim', events: [['any.FeePaid', '5']] });
one('beside a fee in the native token', fees('3', 1, 0), remark({ events: [inAsset, feePaid('3')] }));
one(
  'another pallet with a TransactionFeePaid says nothing',
  fees('4', 1, 0),
  remark({ ...estimate('4'), events: [['other.TransactionFeePaid', ALICE, '5', '0']] }),
);
one(
  'tips of signed and general transactions',
  { ...fees('30', 2, 0), total_tips: 7e-10 },
  remark({ tip: '3', events: [feePaid('10', '3')] }),
  general({ tip: '4', events: [feePaid('20', '4')] }),
  { call: 'claims.claim', tip: '9' },
);

// Windows of 30 days over days of which some are unknown.
const kusama = new Rule('kusama', { number: 1000, day: '2024-06-01' });
kusama.snapshot('price', { symbol: 'KSM', usd: 2 }, '2024-06-02T00:00:00Z');
kusama.snapshot('price', { symbol: 'KSM', usd: 3 }, '2024-06-03T00:00:00Z');
const window = (
  planck: string | null,
  total_fees_30d: number | null,
  usd: number | null,
  usd30: number | null,
  priced_days_30d: number,
) => ({
  total_fees_planck: planck,
  total_fees_30d,
  total_fees_usd: usd,
  total_fees_usd_30d: usd30,
  priced_days_30d,
});
kusama.extrinsics(general()).day('nothing known yet', 'daily-fees', window(null, null, null, null, 0));
kusama
  .extrinsics(remark({ events: [feePaid('1000000000000')] }))
  .day('a known day', 'daily-fees', window('1000000000000', 1, 3, 3, 1));
kusama.extrinsics(general()).day('an unknown day after it', 'daily-fees', window(null, 1, null, 3, 1));
kusama.extrinsics().day('a day without fees', 'daily-fees', window('0', 1, null, 3, 1));

const ethereum = (...events: ShapedEvent[]): ShapedExtrinsic => ({
  call: 'ethereum.transact',
  paysFee: false,
  events: [['ethereum.Executed', FROM, TO, `0x${'11'.repeat(32)}`, { succeed: 'Stopped' }, '0x'], ...events],
});
const [FROM, TO] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`];
const moonbeam = new Rule('moonbeam', { number: 1000, day: '2024-01-01' });
moonbeam.snapshot('price', { symbol: 'GLMR', usd: 1 }, '2024-01-02T00:00:00Z');
moonbeam
  .extrinsics(ethereum())
  .day('an Ethereum transaction without an event, on a day with a price', 'daily-fees', {
    ...fees(null, 0, 1),
    total_fees_usd: null,
    priced_days_30d: 0,
  });
moonbeam.rows(
  'leaves the dollars of the relay unknown',
  'daily-fees',
  { relay_chain: 'polkadot', chain: 'ecosystem', date: '2024-01-02' },
  [{ total_fees_usd: null, fee_unknown: 1 }],
);
moonbeam.extrinsics(ethereum(feePaid('21'))).day('with its event', 'daily-fees', fees('21', 1, 0));
moonbeam.extrinsics(ethereum(), ethereum(feePaid('5'))).day('both', 'daily-fees', fees('5', 1, 1));
moonbeam.extrinsics(ethereum(inGas)).day('paid in another asset', 'daily-fees', fees('0', 0, 0));

export const feeRules = [relay, kusama, moonbeam];
