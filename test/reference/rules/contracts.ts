import { legacyPayload } from '../../generator/ethereum.ts';
import type { ShapedEvent, ShapedExtrinsic } from '../shaped.ts';
import { shapeCall } from '../shaped.ts';
import { ALICE, feePaid, general, Rule, remark } from './rule.ts';

// Instantiations of which the runtime tells nothing, gas of any size, fees of calls.

const C1 = `0x${'c1'.repeat(20)}`;
const DEPLOYED = 'contracts-deployed-heatmap';
const CALLS = 'contract-calls-heatmap';
const DETAILS = 'contract-call-details';
const instantiated = (pallet = 'revive'): ShapedEvent => [
  `${pallet}.Instantiated`,
  `0x${'01'.repeat(20)}`,
  C1,
];
const reverted: ShapedEvent = ['revive.EthExtrinsicRevert', { module: {} }];
const create = (name: string, ...events: ShapedEvent[]): ShapedExtrinsic => ({
  call: name,
  args: { value: '0', code: '0x6080', data: '0x', salt: null },
  signer: { id: ALICE },
  events,
});
const ethereum = (
  fields: { to: string; data?: string; gasPrice?: bigint; gasLimit?: bigint },
  ...events: ShapedEvent[]
): ShapedExtrinsic => ({
  call: 'revive.ethTransact',
  args: { payload: legacyPayload({ gasPrice: 1n, gasLimit: 21_000n, ...fields }, '11'.repeat(32)) },
  events,
});
const creation = { to: '0x', data: '0x6001' };

const kusama = new Rule('asset-hub-kusama', { number: 100, day: '2025-12-01' });
const deployed = (title: string, count: number | null, ...extrinsics: ShapedExtrinsic[]) =>
  kusama.extrinsics(...extrinsics).day(title, DEPLOYED, { count });
deployed('told', 1, create('revive.instantiate', instantiated()));
deployed('not told', null, create('revive.instantiateWithCode'));
kusama.day('which touches no calls', CALLS, { count: 0 });
deployed('of the older pallet', null, create('contracts.instantiate'));
deployed('which tells of its own', 0, create('contracts.instantiateWithCode', instantiated('contracts')));
deployed('one pallet does not tell of the other', null, create('contracts.instantiate', instantiated()));
deployed('one of two in a batch', null, {
  ...create('utility.batchAll', instantiated(), ['utility.BatchCompleted']),
  args: {
    calls: ['instantiate', 'ethInstantiateWithCode'].map((name) =>
      shapeCall(`revive.${name}`, { value: '0', data: '0x' }),
    ),
  },
});
deployed(
  'beside one that tells of it',
  null,
  create('revive.instantiate', instantiated()),
  create('revive.instantiate'),
);
deployed('one that failed', 0, { ...create('revive.instantiate'), success: false });
deployed('one of unknown success', 0, { ...create('revive.instantiate'), outcome: false });
deployed('one that was interrupted', 0, {
  ...create('utility.batch', ['utility.BatchInterrupted', '0', {}]),
  args: { calls: [shapeCall('revive.instantiate', { value: '0' })] },
});
deployed('an Ethereum transaction', null, ethereum(creation));
deployed('that was told', 1, ethereum(creation, instantiated()));
deployed('that was reverted', 0, ethereum(creation, reverted));
deployed('that calls', 0, ethereum({ to: C1 }));
deployed('of a general transaction', null, {
  ...general(),
  call: 'revive.instantiate',
  args: { value: '0' },
});
// A day of which blocks are missing has no 0, but it has an unknown count.
const gapped = new Rule('asset-hub-kusama', { number: 200, day: '2026-01-10' });
gapped
  .extrinsics(create('revive.instantiate'))
  .day('also where heights are missing', DEPLOYED, { count: null });

const hub = new Rule('asset-hub-polkadot', { number: 500, day: '2025-06-01' });
const weighed = (limit: unknown): ShapedExtrinsic => ({
  ...create('revive.call', feePaid('5')),
  args: { dest: C1, value: '0', data: '0x', weight_limit: limit },
});
const ofBlock = (title: string, row: object, ...extrinsics: ShapedExtrinsic[]) =>
  hub.extrinsics(...extrinsics).rows(title, DETAILS, { block_number: hub.number }, [row as never]);
hub.opening(instantiated());
const GAS = [2n ** 53n + 1n, 2n ** 64n + 1n, 2n ** 128n + 1n, 2n ** 256n - 1n];
for (const gas of GAS) {
  const priced = ethereum({ to: C1, gasPrice: gas, gasLimit: gas });
  ofBlock(`gas of ${gas}`, { gas_limit: gas, gas_price: gas, fee_planck: null }, priced);
  ofBlock(
    `weight of ${gas}`,
    { gas_limit: gas, gas_price: null, fee_planck: '5' },
    weighed({ refTime: String(gas), proofSize: '0' }),
  );
}
ofBlock(
  'beyond the largest',
  { gas_limit: null, gas_price: null },
  weighed({ refTime: String(2n ** 256n), proofSize: '0' }),
);
ofBlock('an unknown outcome', { success: null, weight_ref_time: null }, { ...weighed('7'), outcome: false });
ofBlock(
  'an unknown account',
  { from_address: null, success: true, fee_planck: '9' },
  {
    ...general({ events: [feePaid('9')] }),
    call: 'revive.call',
    args: { dest: C1, value: '0', data: '0x' },
  },
);
hub.extrinsics(remark());

export const contractRules = [kusama, gapped, hub];
