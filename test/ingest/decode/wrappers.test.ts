import { describe, expect, test } from 'vitest';
import { decodeExtrinsic } from '../../../ingest/decode/calls.ts';
import {
  ALICE,
  BOB,
  batch,
  batchAll,
  CAROL,
  type Call,
  call,
  DONE,
  DONE_WITH_ERRORS,
  event,
  FAILED,
  forceBatch,
  ITEM,
  interrupted,
  NAMES,
  PROXY_ERR,
  PROXY_OK,
  proxy,
  remark,
  remarks,
  run,
} from './wrapped-remarks.ts';

describe('the extrinsic itself', () => {
  test('ran nothing unless it succeeded for certain', () => {
    expect(remarks(batch(remark('a')), [DONE], false)).toEqual([]);
    expect(remarks(batch(remark('a')), [DONE], 'Unable to fetch events')).toEqual([]);
  });

  test('acts for its signer, in whatever shape the signer comes', () => {
    const shapes = [ALICE, { id: ALICE }, { Id: ALICE }, { address32: ALICE }];
    for (const signer of shapes) {
      expect(decodeExtrinsic({ ...remark('a'), signature: { signer } }).topLevelActor).toBe(ALICE);
    }
    expect(decodeExtrinsic({ ...remark('a'), signature: null }).topLevelActor).toBeNull();
  });

  test('is spelled as Sidecar or as metadata spells it', () => {
    const extrinsic = { method: { pallet: 'Utility', method: 'batch_all' }, args: { calls: [remark('a')] } };
    const events = [{ method: { pallet: 'Utility', method: 'batch_completed' }, data: {} }];
    const decoded = decodeExtrinsic({ ...extrinsic, signature: null, success: true, events });
    expect(decoded.calls).toMatchObject([{ path: '0', pallet: 'system', call: 'remark' }]);
  });

  test('lists a renamed pallet under its present name', () => {
    const { calls } = run(batch(call('electionsPhragmen.vote'), call('Balances.transfer_keep_alive')), [
      DONE,
    ]);
    expect(calls.map((nested) => `${nested.pallet}.${nested.call}`)).toEqual([
      'phragmenElection.vote',
      'balances.transferKeepAlive',
    ]);
  });
});

describe('batch', () => {
  const three = batch(remark('a'), remark('b'), remark('c'));

  test('completed: all ran', () => {
    expect(remarks(three, [DONE])).toEqual(['0 a alice', '1 b alice', '2 c alice']);
    expect(remarks(three, [ITEM, ITEM, ITEM, DONE])).toEqual(['0 a alice', '1 b alice', '2 c alice']);
  });

  test.each([['2'], [2], ['0x2']])('interrupted at %j: the calls before it ran', (at) => {
    expect(remarks(three, [interrupted(at)])).toEqual(['0 a alice', '1 b alice']);
  });

  test('interrupted at the first: none ran', () => {
    expect(remarks(three, [interrupted('0')])).toEqual([]);
  });

  test('without a completion: none ran', () => {
    expect(remarks(three, [])).toEqual([]);
  });

  test('nested on an old runtime: each takes its own completion, from the outside in', () => {
    const outer = batch(batch(remark('a'), remark('b')), batch(remark('c'), remark('d')));
    expect(remarks(outer, [interrupted(1), DONE, DONE])).toEqual([
      '0.0 a alice',
      '1.0 c alice',
      '1.1 d alice',
    ]);
    expect(remarks(outer, [DONE, interrupted(0), DONE])).toEqual(['0.0 a alice', '0.1 b alice']);
    expect(remarks(outer, [DONE, interrupted(1)])).toEqual(['0.0 a alice', '0.1 b alice']);
  });

  test('nested on a new runtime: the marks of inner items are not taken for outer ones', () => {
    const outer = batch(batch(remark('a'), remark('b')), remark('c'), proxy(remark('d')));
    const events = [ITEM, interrupted(1), ITEM, ITEM, PROXY_OK, ITEM, DONE];
    expect(remarks(outer, events)).toEqual(['0.0 a alice', '1 c alice', '2.0 d bob']);
  });
});

describe('batchAll', () => {
  test('completed: all ran; an interruption is not its own', () => {
    expect(remarks(batchAll(remark('a'), remark('b')), [DONE])).toEqual(['0 a alice', '1 b alice']);
    expect(remarks(batchAll(remark('a')), [interrupted(1)])).toEqual([]);
  });
});

describe('forceBatch', () => {
  const three = forceBatch(remark('a'), remark('b'), remark('c'));

  test('every call ran or failed by itself', () => {
    expect(remarks(three, [ITEM, FAILED, ITEM, DONE_WITH_ERRORS])).toEqual(['0 a alice', '2 c alice']);
    expect(remarks(three, [ITEM, ITEM, ITEM, DONE])).toEqual(['0 a alice', '1 b alice', '2 c alice']);
    expect(remarks(three, [FAILED, FAILED, FAILED, DONE_WITH_ERRORS])).toEqual([]);
  });

  test('without a completion: none ran', () => {
    expect(remarks(three, [ITEM, ITEM, ITEM])).toEqual([]);
  });

  test('a failed call leaves no events that could be taken for another', () => {
    const outer = forceBatch(batchAll(remark('a'), remark('b')), batchAll(remark('c')));
    expect(remarks(outer, [FAILED, ITEM, DONE, ITEM, DONE_WITH_ERRORS])).toEqual(['1.0 c alice']);
  });
});

describe('proxy', () => {
  test('runs for the account behind it when it succeeded', () => {
    expect(remarks(proxy(remark('a')), [PROXY_OK])).toEqual(['0 a bob']);
    expect(remarks(proxy(remark('a')), [event('proxy.ProxyExecuted', 'Ok')])).toEqual(['0 a bob']);
    expect(remarks(proxy(remark('a')), [event('proxy.ProxyExecuted', { ok: [] })])).toEqual(['0 a bob']);
    expect(remarks(proxy(remark('a')), [PROXY_ERR])).toEqual([]);
    expect(remarks(proxy(remark('a')), [])).toEqual([]);
  });

  test('announced: alike', () => {
    const announced = call('proxy.proxyAnnounced', { delegate: CAROL, real: BOB, call: remark('a') });
    expect(remarks(announced, [PROXY_OK])).toEqual(['0 a bob']);
  });

  test('several in a batch each take their own outcome', () => {
    const two = batch(proxy(remark('a'), BOB), proxy(remark('b'), CAROL));
    expect(remarks(two, [PROXY_ERR, PROXY_OK, DONE])).toEqual(['1.0 b carol']);
    expect(remarks(two, [PROXY_OK, PROXY_ERR, DONE])).toEqual(['0.0 a bob']);
  });

  test('of a proxy: the inner one acts last', () => {
    expect(remarks(proxy(proxy(remark('a'), CAROL), BOB), [PROXY_OK, PROXY_OK])).toEqual(['0.0 a carol']);
    expect(remarks(proxy(proxy(remark('a'), CAROL), BOB), [PROXY_ERR, PROXY_OK])).toEqual([]);
  });
});

describe('multisig', () => {
  const asMulti = call('multisig.asMulti', { threshold: 2, other_signatories: [BOB], call: remark('a') });
  const executedWith = (result: unknown) =>
    event('multisig.MultisigExecuted', ALICE, { height: '1', index: '1' }, CAROL, '0xabcd', result);

  test('runs for the multisig account on the last approval', () => {
    expect(remarks(asMulti, [executedWith({ ok: null })])).toEqual(['0 a carol']);
    expect(remarks(asMulti, [executedWith({ err: 'x' })])).toEqual([]);
    expect(remarks(asMulti, [event('multisig.NewMultisig', ALICE, CAROL, '0xabcd')])).toEqual([]);
    expect(remarks(asMulti, [event('multisig.MultisigApproval', ALICE, {}, CAROL, '0xabcd')])).toEqual([]);
  });

  test('takes the outcome of its own, not of another in the same batch', () => {
    const two = batch(asMulti, asMulti);
    const approval = event('multisig.NewMultisig', ALICE, CAROL, '0xabcd');
    expect(remarks(two, [executedWith({ ok: null }), approval, DONE])).toEqual(['0.0 a carol']);
  });

  test('an approval by hash never runs anything', () => {
    const approve = call('multisig.approveAsMulti', { call: remark('a') });
    expect(remarks(approve, [executedWith({ ok: null })])).toEqual([]);
  });

  test('of threshold one runs at once, for the account of all its signatories in any order', () => {
    const inner = call('multisig.asMultiThreshold1', { other_signatories: [CAROL, BOB], call: remark('a') });
    const same = call('multisig.asMultiThreshold1', {
      otherSignatories: [BOB, { id: CAROL }],
      call: remark('a'),
    });
    const [actor] = run(inner).calls.map((nested) => nested.actor);
    expect(actor).toMatch(/^0x[0-9a-f]{64}$/);
    expect(run(same).calls[0]?.actor).toBe(actor);
  });

  test('lived in the utility pallet at first, with an event that had no hash', () => {
    const old = call('utility.asMulti', { threshold: 2, other_signatories: [BOB], call: remark('a') });
    expect(remarks(old, [event('utility.MultisigExecuted', ALICE, {}, CAROL, { ok: [] })])).toEqual([
      '0 a carol',
    ]);
  });
});

describe('sudo', () => {
  test.each(['sudo.sudo', 'sudo.sudoUncheckedWeight'])('%s runs as root', (name) => {
    expect(remarks(call(name, { call: remark('a') }), [event('sudo.Sudid', { ok: null })])).toEqual([
      '0 a root',
    ]);
    expect(remarks(call(name, { proposal: remark('a') }), [event('sudo.Sudid', true)])).toEqual(['0 a root']);
    expect(remarks(call(name, { call: remark('a') }), [event('sudo.Sudid', { err: 'x' })])).toEqual([]);
  });

  test('sudoAs runs as the account it names', () => {
    const sudoAs = call('sudo.sudoAs', { who: { id: BOB }, call: remark('a') });
    expect(remarks(sudoAs, [event('sudo.SudoAsDone', true)])).toEqual(['0 a bob']);
    expect(remarks(sudoAs, [event('sudo.SudoAsDone', { ok: null })])).toEqual(['0 a bob']);
    expect(remarks(sudoAs, [event('sudo.SudoAsDone', false)])).toEqual([]);
  });

  test('a batch under root has no actor', () => {
    const events = [DONE, event('sudo.Sudid', { ok: null })];
    expect(remarks(call('sudo.sudo', { call: batch(remark('a')) }), events)).toEqual(['0.0 a root']);
  });
});

describe('other origins', () => {
  test('dispatchAs runs for the account of its origin', () => {
    const as = (as_origin: unknown) => call('utility.dispatchAs', { as_origin, call: remark('a') });
    const done = event('utility.DispatchedAs', { ok: null });
    expect(remarks(as({ system: { signed: BOB } }), [done])).toEqual(['0 a bob']);
    expect(remarks(as({ system: { Signed: BOB } }), [done])).toEqual(['0 a bob']);
    expect(remarks(as({ system: { root: null } }), [done])).toEqual(['0 a root']);
    expect(remarks(as({ system: 'Root' }), [done])).toEqual(['0 a root']);
    expect(remarks(as({ system: { signed: BOB } }), [event('utility.DispatchedAs', { err: 'x' })])).toEqual(
      [],
    );
  });

  test('withWeight changes nothing', () => {
    expect(remarks(call('utility.withWeight', { call: remark('a') }))).toEqual(['0 a alice']);
  });

  test('asRecovered runs for the lost account', () => {
    expect(remarks(call('recovery.asRecovered', { account: { id: CAROL }, call: remark('a') }))).toEqual([
      '0 a carol',
    ]);
  });

  test('asDerivative runs for an account that depends on who and on the index', () => {
    const derived = (index: unknown, inner = remark('a')) =>
      call('utility.asDerivative', { index, call: inner });
    const actorOf = (extrinsic: Call, events: unknown[] = []) => run(extrinsic, events).calls.at(-1)?.actor;
    expect(actorOf(derived('1'))).toMatch(/^0x[0-9a-f]{64}$/);
    expect(actorOf(derived(1))).toBe(actorOf(derived('1')));
    expect(actorOf(derived(2))).not.toBe(actorOf(derived(1)));
    expect(actorOf(proxy(derived(1)), [PROXY_OK])).not.toBe(actorOf(derived(1)));
    expect(actorOf(derived(70_000))).toBeNull();
  });

  test('a derived account of an Ethereum account is an Ethereum account', () => {
    const extrinsic = call('utility.asDerivative', { index: 0, call: remark('a') });
    const signature = { signer: `0x${'ee'.repeat(20)}` };
    const { calls } = decodeExtrinsic({ ...extrinsic, signature, success: true, events: [] });
    expect(calls[0]?.actor).toMatch(/^0x[0-9a-f]{40}$/);
  });

  test('the scheduler runs nothing now', () => {
    expect(remarks(call('scheduler.schedule', { when: 5, call: remark('a') }))).toEqual([]);
  });
});

test('through a proxy, a multisig and a batch, every call has its place and its actor', () => {
  const multi = call('multisig.asMulti', { other_signatories: [BOB], call: batch(remark('b'), remark('c')) });
  const extrinsic = batchAll(remark('a'), proxy(multi), remark('d'));
  const events = [
    ITEM,
    ...[ITEM, interrupted(1)],
    event('multisig.MultisigExecuted', BOB, {}, CAROL, '0x', { ok: null }),
    PROXY_OK,
    ITEM,
    ITEM,
    DONE,
  ];
  expect(
    run(extrinsic, events).calls.map(({ path, call, actor }) => [path, call, NAMES[actor ?? '']]),
  ).toEqual([
    ['0', 'remark', 'alice'],
    ['1', 'proxy', 'alice'],
    ['1.0', 'asMulti', 'bob'],
    ['1.0.0', 'batch', 'carol'],
    ['1.0.0.0', 'remark', 'carol'],
    ['2', 'remark', 'alice'],
  ]);
});
