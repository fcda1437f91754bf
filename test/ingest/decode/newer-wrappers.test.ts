import { describe, expect, test } from 'vitest';
import { decodeBlock } from '../../../ingest/decode/calls.ts';
import {
  ALICE,
  BOB,
  batch,
  batchAll,
  CAROL,
  type Call,
  call,
  DONE,
  event,
  ITEM,
  interrupted,
  PROXY_ERR,
  PROXY_OK,
  proxy,
  remark,
  remarks,
  run,
} from './wrapped-remarks.ts';

describe('ifElse', () => {
  const ifElse = call('utility.ifElse', { main: remark('a'), fallback: remark('b') });
  const MAIN = event('utility.IfElseMainSuccess');
  const FALLBACK = event('utility.IfElseFallbackCalled', { token: 'Frozen' });

  test('runs main, or else the fallback', () => {
    expect(remarks(ifElse, [MAIN])).toEqual(['0 a alice']);
    expect(remarks(ifElse, [FALLBACK])).toEqual(['1 b alice']);
    expect(remarks(ifElse, [])).toEqual([]);
    expect(remarks(ifElse, [MAIN], false)).toEqual([]);
  });

  test('one inside the other: each takes its own end, from the outside in', () => {
    const inner = call('utility.ifElse', { main: remark('c'), fallback: remark('d') });
    const inMain = call('utility.ifElse', { main: inner, fallback: remark('e') });
    const inFallback = call('utility.ifElse', { main: remark('e'), fallback: inner });
    expect(remarks(inMain, [FALLBACK, MAIN])).toEqual(['0.1 d alice']);
    expect(remarks(inFallback, [MAIN, FALLBACK])).toEqual(['1.0 c alice']);
    expect(remarks(inMain, [FALLBACK])).toEqual(['1 e alice']);
  });

  test('around and inside other wrappers', () => {
    const around = call('utility.ifElse', { main: proxy(batch(remark('a'), remark('b'))), fallback: ifElse });
    expect(remarks(around, [interrupted(1), PROXY_OK, MAIN])).toEqual(['0.0.0 a bob']);
    expect(remarks(around, [MAIN, FALLBACK])).toEqual(['1.0 a alice']);
    const two = batch(ifElse, ifElse);
    expect(remarks(two, [FALLBACK, ITEM, MAIN, ITEM, DONE])).toEqual(['0.1 b alice', '1.0 a alice']);
  });
});

describe('dispatchAsFallible', () => {
  const fallible = (origin: unknown, inner = remark('a')) =>
    call('utility.dispatchAsFallible', { as_origin: origin, call: inner });
  const SIGNED = { system: { signed: BOB } };
  const dispatched = (result: unknown) => event('utility.DispatchedAs', result);

  test('runs whenever it ran itself, with an event of its own or without', () => {
    expect(remarks(fallible(SIGNED), [])).toEqual(['0 a bob']);
    expect(remarks(fallible(SIGNED), [dispatched({ ok: null })])).toEqual(['0 a bob']);
    expect(remarks(fallible(SIGNED), [dispatched({ err: 'x' })])).toEqual(['0 a bob']);
    expect(remarks(fallible({ system: 'Root' }), [])).toEqual(['0 a root']);
    expect(remarks(fallible({ Origins: 'Treasurer' }), [])).toEqual(['0 a root']);
    expect(remarks(fallible(SIGNED), [], false)).toEqual([]);
  });

  test('takes only an event that reports success', () => {
    const as = (inner: Call) => call('utility.dispatchAs', { as_origin: SIGNED, call: inner });
    const two = batch(as(remark('a')), fallible(SIGNED, remark('b')));
    const failed = dispatched({ err: 'x' });
    expect(remarks(two, [dispatched({ ok: null }), dispatched({ ok: null }), DONE])).toEqual([
      '0.0 a bob',
      '1.0 b bob',
    ]);
    expect(remarks(two, [failed, dispatched({ ok: null }), DONE])).toEqual(['1.0 b bob']);
    expect(remarks(two, [failed, DONE])).toEqual(['1.0 b bob']);
  });
});

describe('remote proxies', () => {
  const remote = (name: string) => call(name, { real: { id: BOB }, call: remark('a') });

  test.each([
    'remoteProxyRelayChain.remoteProxy',
    'remoteProxyRelayChain.remoteProxyWithRegisteredProof',
    'remoteProxyPeople.remoteProxyWithRegisteredProof',
    'RemoteProxyRelayChain.remote_proxy_with_registered_proof',
  ])('%s runs as a proxy does', (name) => {
    expect(remarks(remote(name), [PROXY_OK])).toEqual(['0 a bob']);
    expect(remarks(remote(name), [PROXY_ERR])).toEqual([]);
    expect(remarks(remote(name), [])).toEqual([]);
  });

  test('a proof in the same batch runs nothing, and each proxy takes its own outcome', () => {
    const registered = remote('remoteProxyRelayChain.remoteProxyWithRegisteredProof');
    const proof = call('remoteProxyRelayChain.registerRemoteProxyProof', { call: remark('b') });
    const all = batch(proof, registered, proxy(remark('c'), CAROL));
    expect(remarks(all, [PROXY_OK, PROXY_ERR, DONE])).toEqual(['1.0 a bob']);
    expect(remarks(all, [PROXY_ERR, PROXY_OK, DONE])).toEqual(['2.0 c carol']);
  });
});

describe('controlInheritedAccount', () => {
  const control = (inner: Call) =>
    call('recovery.controlInheritedAccount', { recovered: { id: CAROL }, call: inner });
  const controlled = (result: unknown) =>
    event('recovery.RecoveredAccountControlled', CAROL, ALICE, '0xabcd', result);

  test('runs for the recovered account unless the event says otherwise', () => {
    expect(remarks(control(remark('a')), [])).toEqual(['0 a carol']);
    expect(remarks(control(remark('a')), [controlled({ ok: null })])).toEqual(['0 a carol']);
    expect(remarks(control(remark('a')), [controlled({ err: 'x' })])).toEqual([]);
    const named = { callHash: '0x', callResult: { ok: null }, inheritor: ALICE, recovered: CAROL };
    const sorted = { method: 'recovery.RecoveredAccountControlled', data: named };
    expect(remarks(control(remark('a')), [sorted])).toEqual(['0 a carol']);
  });

  test('several take their own events, and one without an event beside others did not run', () => {
    const two = batch(control(remark('a')), control(remark('b')));
    expect(remarks(two, [controlled({ err: 'x' }), controlled({ ok: null }), DONE])).toEqual(['1.0 b carol']);
    expect(remarks(two, [controlled({ ok: null }), DONE])).toEqual(['1.0 b carol']);
    expect(remarks(two, [DONE])).toEqual(['0.0 a carol', '1.0 b carol']);
  });
});

describe('meta transactions', () => {
  const meta = (extension?: unknown) =>
    call('metaTx.dispatch', { meta_tx: { call: remark('a'), extension_version: '0', extension } });
  const DISPATCHED = event('metaTx.Dispatched', { ok: { actualWeight: null } });

  test.each<[extension: unknown]>([
    [{ signed: { signature: {}, account: BOB } }],
    [{ Signed: { signature: {}, Account: { id: BOB } } }],
    [[{ signed: { signature: {}, account: BOB } }, null, {}]],
    [['0x', { signed: 'x' }, { SIGNED: { account: BOB } }, { signed: { account: CAROL } }]],
    [{ verify_signature: { signed: { signature: {}, account: BOB } }, nonce: '1' }],
  ])('run for the signer that %j shows', (extension) => {
    expect(remarks(meta(extension), [DISPATCHED])).toEqual(['0 a bob']);
  });

  test.each<[extension: unknown]>([
    [undefined],
    ['0x00'],
    [[{ deeper: { signed: { account: BOB } } }]],
    [{ signed: { signature: {} } }],
    [{ signed: { account: 'nobody' } }],
  ])('run for an unknown account where %j shows none', (extension) => {
    expect(remarks(meta(extension), [DISPATCHED])).toEqual(['0 a root']);
  });

  test('run only when they report success, and accounts derived of an unknown one are unknown', () => {
    expect(remarks(meta(), [event('metaTx.Dispatched', { err: 'x' })])).toEqual([]);
    expect(remarks(meta(), [])).toEqual([]);
    const derived = call('utility.asDerivative', { index: 0, call: remark('b') });
    const shared = call('multisig.asMultiThreshold1', { other_signatories: [BOB], call: remark('c') });
    const both = call('metaTx.dispatch', { metaTx: { call: batchAll(derived, shared) } });
    expect(remarks(both, [DONE, DISPATCHED])).toEqual(['0.0.0 b root', '0.1.0 c root']);
  });
});

test.each(['withFeeCurrency', 'withFeePath', 'withFeePaidBy', 'withFeeAggregatedPath'])(
  'transactionPayment.%s runs its call for the signer',
  (name) => {
    const paid = (inner: Call) => call(`transactionPayment.${name}`, { currency_id: {}, call: inner });
    expect(remarks(paid(remark('a')))).toEqual(['0 a alice']);
    expect(remarks(paid(proxy(remark('a'))), [PROXY_OK])).toEqual(['0.0 a bob']);
    expect(remarks(paid(remark('a')), [], false)).toEqual([]);
  },
);

describe('arguments of a wrapper that hold none of its calls', () => {
  const vote = call('convictionVoting.vote', { poll_index: '1', vote: {} });
  const extra = { calls: [vote], call: vote, proposal: vote };
  const domainOf = (extrinsic: Call) =>
    decodeBlock({ extrinsics: [extrinsic] }).domains.map(({ domain }) => domain);

  test('are neither run nor decide the domain of a meta transaction', () => {
    const transfer = call('balances.transferAll', { dest: BOB });
    const meta = (inner: Call) => call('metaTx.dispatch', { meta_tx: { ...extra, call: inner }, ...extra });
    expect(domainOf(meta(transfer))).toEqual(['Assets']);
    expect(domainOf(batch(meta(transfer), transfer))).toEqual(['Assets']);
    const { calls } = run(meta(remark('a')), [event('metaTx.Dispatched', { ok: null })]);
    expect(calls.map(({ path, pallet }) => [path, pallet])).toEqual([['0', 'system']]);
  });

  test('nor of ifElse', () => {
    const either = call('utility.ifElse', { main: remark('a'), fallback: remark('b'), ...extra });
    expect(domainOf(either)).toEqual(['System']);
    expect(remarks(either, [event('utility.IfElseFallbackCalled', {})])).toEqual(['1 b alice']);
  });

  test('nor of a proxy with branches or with a meta transaction', () => {
    const transfer = call('balances.transferAll', { dest: BOB });
    for (const args of [{ main: vote, fallback: vote }, { meta_tx: { call: vote } }]) {
      expect(domainOf(call('proxy.proxy', { real: BOB, ...args }))).toEqual(['System']);
      expect(domainOf(call('proxy.proxy', { real: BOB, call: transfer, ...args }))).toEqual(['Assets']);
      expect(run(call('proxy.proxy', { real: BOB, ...args }), [PROXY_OK]).calls).toEqual([]);
    }
  });
});

describe('wrappers without a rule', () => {
  const sidecar = (name: string, args: object) => {
    const [pallet, method] = name.split('.');
    return { method: { pallet, method }, args };
  };
  const inner = sidecar('system.remark', { remark: '0x' });
  const unknown = (extrinsic: Call, events: unknown[] = [], success: unknown = true) =>
    run(extrinsic, events, success).unknown.map(
      ({ path, pallet, call, calls }) => `${path} ${pallet}.${call} ${calls}`,
    );

  test.each<[name: string, args: Record<string, unknown>, calls: number]>([
    ['council.propose', { threshold: '3', proposal: inner, length_bound: '9' }, 1],
    ['whitelist.dispatchWhitelistedCallWithPreimage', { call: inner }, 1],
    ['transactionPayment.withFeeOfFuture', { call: inner }, 1],
    ['future.all', { calls: [inner, inner, '0x00'], other: inner }, 3],
    ['future.within', { meta: { call: inner, nonce: 1 } }, 1],
    ['future.batch', { call: sidecar('utility.batch', { calls: [inner, inner] }) }, 1],
  ])('%s holds calls', (name, args, calls) => {
    expect(unknown(call(name, args))).toEqual([` ${name} ${calls}`]);
    expect(unknown(call(name, args), [], false)).toEqual([]);
  });

  test.each<[name: string, args: Record<string, unknown>]>([
    ['council.vote', { proposal: '0x00', index: '1' }],
    ['system.remark', { remark: 'call' }],
    ['preimage.notePreimage', { bytes: '0x00' }],
    ['polkadotXcm.send', { message: { V5: [{ transact: { call: { encoded: '0x00' } } }] } }],
    ['future.call', { call: { method: { pallet: 'a', method: 'b' } } }],
    ['future.deep', { a: { b: { c: inner } } }],
  ])('%s holds none', (name, args) => {
    expect(unknown(call(name, args))).toEqual([]);
  });

  test.each([
    'scheduler.scheduleNamedAfter',
    'multisig.approveAsMulti',
    'remoteProxyRelayChain.registerRemoteProxyProof',
    'proxy.proxy',
  ])('%s has a rule, whatever ran', (name) => {
    expect(unknown(call(name, { call: inner }))).toEqual([]);
  });

  test('inside others count where they ran', () => {
    const propose = call('council.propose', { proposal: inner });
    expect(unknown(batch(remark('a'), proxy(propose)), [PROXY_OK, DONE])).toEqual(['1.0 council.propose 1']);
    expect(unknown(batch(remark('a'), proxy(propose)), [PROXY_ERR, DONE])).toEqual([]);
  });
});
