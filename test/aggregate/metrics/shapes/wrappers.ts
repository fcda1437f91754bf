import type { InputLine } from '../../../reference/input.ts';
import { type ShapedEvent, type ShapedExtrinsic, shapeCall } from '../../../reference/shaped.ts';
import { ALICE, BOB, BOB_GENERIC, blocksOf, CHARLIE_GENERIC } from './shape.ts';

const OK = { ok: null };
const ERR = { err: { badOrigin: null } };
const remarkCall = shapeCall('system.remark', { remark: '0x' });
const teleport = shapeCall('polkadotXcm.limitedTeleportAssets', { dest: {} });
const xTransfer = shapeCall('xTokens.transfer', { dest: {} });
const both = [remarkCall, teleport];
const item: ShapedEvent = ['utility.ItemCompleted'];
const failedItem: ShapedEvent = ['utility.ItemFailed', {}];
const completed: ShapedEvent = ['utility.BatchCompleted'];
const multisig = (name: string, ...data: unknown[]): ShapedEvent => [`multisig.${name}`, ALICE, ...data];
const executedAs = (result: unknown) => multisig('MultisigExecuted', {}, BOB, '0x', result);

const wrapped = (
  call: string,
  args: object,
  events: readonly ShapedEvent[],
  fields: object = {},
): ShapedExtrinsic => ({
  call,
  args,
  events,
  signer: { id: ALICE },
  ...fields,
});

/** Each wrapper with its inner calls run, not run, and run in part; as many days as wrappers. */
const WRAPPED: readonly ShapedExtrinsic[] = [
  wrapped('utility.batch', { calls: both }, [item, item, completed]),
  wrapped('utility.batch', { calls: both }, [completed]),
  wrapped('utility.batch', { calls: both }, [item, ['utility.BatchInterrupted', '1', {}]]),
  wrapped('utility.batch', { calls: both }, [['utility.BatchInterrupted', 1, {}]]),
  wrapped('utility.batch', { calls: both }, []),
  wrapped('utility.batch', { calls: [] }, [completed]),
  wrapped('utility.batchAll', { calls: [...both, xTransfer] }, [item, item, item, completed]),
  wrapped('utility.batchAll', { calls: both }, [], { success: false }),
  wrapped('utility.batchAll', { calls: both }, [completed], { success: 'unknown' }),
  wrapped('utility.batchAll', { calls: both }, [completed], { outcome: false }),
  wrapped('utility.forceBatch', { calls: [...both, remarkCall] }, [
    item,
    failedItem,
    item,
    ['utility.BatchCompletedWithErrors'],
  ]),
  wrapped('utility.withWeight', { call: teleport }, []),
  wrapped('utility.asDerivative', { index: '0', call: remarkCall }, []),
  wrapped('utility.dispatchAs', { as_origin: {}, call: teleport }, [['utility.DispatchedAs', OK]]),
  wrapped('utility.dispatchAs', { as_origin: {}, call: teleport }, [['utility.DispatchedAs', ERR]]),
  wrapped('proxy.proxy', { real: BOB, call: remarkCall }, [['proxy.ProxyExecuted', 'Ok']]),
  wrapped('proxy.proxy', { real: BOB, call: remarkCall }, [['proxy.ProxyExecuted', ERR]]),
  wrapped('proxy.proxyAnnounced', { real: BOB, call: teleport }, [['proxy.ProxyExecuted', { ok: [] }]]),
  wrapped('proxy.addProxy', { delegate: BOB }, []),
  wrapped('multisig.asMulti', { call: teleport }, [executedAs(OK)]),
  wrapped('multisig.asMulti', { call: teleport }, [executedAs(ERR)]),
  wrapped('multisig.asMulti', { call: teleport }, [multisig('NewMultisig', BOB, '0x')]),
  wrapped('multisig.asMulti', { call: teleport }, [multisig('MultisigApproval', {}, BOB, '0x')]),
  wrapped('multisig.approveAsMulti', { call_hash: '0x' }, [multisig('MultisigApproval', {}, BOB, '0x')]),
  wrapped('multisig.asMultiThreshold1', { other_signatories: [BOB], call: remarkCall }, []),
  wrapped('sudo.sudo', { call: teleport }, [['sudo.Sudid', OK]]),
  wrapped('sudo.sudo', { call: teleport }, [['sudo.Sudid', ERR]]),
  wrapped('sudo.sudoUncheckedWeight', { call: remarkCall }, [['sudo.Sudid', OK]]),
  wrapped('sudo.sudoAs', { who: BOB, call: remarkCall }, [['sudo.SudoAsDone', true]]),
  wrapped('sudo.sudoAs', { who: BOB, call: remarkCall }, [['sudo.SudoAsDone', false]]),
  wrapped('recovery.asRecovered', { account: BOB, call: remarkCall }, []),
  wrapped('scheduler.schedule', { when: '1', call: remarkCall }, []),
  wrapped('revive.ethSubstrateCall', { call: remarkCall }, []),
  wrapped('utility.ifElse', { main: remarkCall, fallback: teleport }, [['utility.IfElseMainSuccess']]),
  wrapped('utility.ifElse', { main: teleport, fallback: teleport }, [['utility.IfElseFallbackCalled', {}]]),
  wrapped('utility.ifElse', { main: remarkCall, fallback: remarkCall }, []),
  wrapped('utility.dispatchAsFallible', { as_origin: {}, call: teleport }, []),
  wrapped('remoteProxyRelayChain.remoteProxy', { real: BOB, call: teleport }, [['proxy.ProxyExecuted', OK]]),
  wrapped('remoteProxyOther.remoteProxyWithRegisteredProof', { real: BOB, call: remarkCall }, []),
  wrapped('remoteProxyRelayChain.registerRemoteProxyProof', { proof: {} }, []),
  wrapped('recovery.controlInheritedAccount', { recovered: BOB, call: teleport }, []),
  wrapped('recovery.controlInheritedAccount', { recovered: BOB, call: remarkCall }, [
    ['recovery.RecoveredAccountControlled', BOB, ALICE, '0x', ERR],
  ]),
  wrapped('recovery.initiateAttempt', { call: teleport }, []),
  wrapped('metaTx.dispatch', { meta_tx: { call: teleport, extension: [] } }, [['metaTx.Dispatched', OK]]),
  wrapped('metaTx.dispatch', { meta_tx: { call: remarkCall, extension: [] } }, []),
  wrapped('transactionPayment.withFeeCurrency', { currency_id: '1', call: teleport }, []),
  wrapped('transactionPayment.withFeePaidBy', { payer: BOB, call: remarkCall }, []),
  wrapped('transactionPayment.setAlternativeFeePath', { call: teleport }, []),
  wrapped('utility.batchAll', { calls: [shapeCall('metaTx.dispatch', { meta_tx: { call: teleport } })] }, [
    ['metaTx.Dispatched', OK],
    completed,
  ]),
  // Nested wrappers: the last completion belongs to the outer wrapper, earlier ones to the inner wrappers.
  wrapped(
    'utility.batchAll',
    {
      calls: [
        shapeCall('utility.batch', { calls: [remarkCall, remarkCall, teleport] }),
        shapeCall('proxy.proxy', {
          real: CHARLIE_GENERIC,
          call: shapeCall('utility.forceBatch', { calls: both }),
        }),
        shapeCall('multisig.asMulti', { call: shapeCall('sudo.sudo', { call: teleport }) }),
        remarkCall,
      ],
    },
    [
      item,
      item,
      ['utility.BatchInterrupted', '2', {}],
      item,
      failedItem,
      item,
      ['utility.BatchCompletedWithErrors'],
      ['proxy.ProxyExecuted', OK],
      item,
      ['sudo.Sudid', OK],
      executedAs(OK),
      item,
      item,
      completed,
    ],
  ),
  wrapped(
    'proxy.proxy',
    { real: BOB_GENERIC, call: shapeCall('proxy.proxy', { real: ALICE, call: teleport }) },
    [
      ['proxy.ProxyExecuted', ERR],
      ['proxy.ProxyExecuted', OK],
    ],
  ),
  // Calls in the arguments of calls that are not wrappers do not count.
  wrapped('preimage.notePreimage', { call: remarkCall, calls: both }, []),
];

export const everyWrapper: InputLine[] = blocksOf(
  'polkadot',
  WRAPPED.map((extrinsic, number) => ({
    number,
    time: new Date(Date.UTC(2026, 0, 1, 12) + number * 86_400_000).toISOString(),
    extrinsics: [extrinsic],
  })),
);

/** The same within one day, where the explorer shows each with its domain. */
export const wrapperDomains: InputLine[] = blocksOf(
  'assethub',
  WRAPPED.map((extrinsic, number) => ({
    number,
    time: new Date(Date.UTC(2026, 0, 1, 12) + number * 6_000).toISOString(),
    extrinsics: [
      extrinsic,
      { call: 'balances.transfer_all', signer: BOB },
      { call: 'bridgeWestendMessages.receive' },
    ],
  })),
);
