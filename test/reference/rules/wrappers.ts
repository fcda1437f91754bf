import { type ShapedEvent, type ShapedExtrinsic, shapeCall } from '../shaped.ts';
import { ALICE, BOB, CHARLIE, DAVE, Rule, SUMMARY } from './rule.ts';

// Which calls inside of newer wrappers ran, and for whom. Each case has a day and a referendum of its own.

const OK = { ok: null };
const ERR = { err: { badOrigin: null } };
const call = shapeCall;
const remarkCall = call('system.remark', { remark: '0x' });
const batchAll = (...calls: object[]) => call('utility.batchAll', { calls });
const ifElse = (main: object, fallback: object) => call('utility.ifElse', { main, fallback });
const fallible = (inner: object, as_origin: object = { system: { signed: BOB } }) =>
  call('utility.dispatchAsFallible', { as_origin, call: inner });
const dispatchAs = (inner: object) =>
  call('utility.dispatchAs', { as_origin: { system: { signed: BOB } }, call: inner });
const remote = (inner: object, name = 'remoteProxyRelayChain.remoteProxy') =>
  call(name, { real: { id: BOB }, force_proxy_type: null, proof: {}, call: inner });
const inherited = (inner: object) =>
  call('recovery.controlInheritedAccount', { recovered: { id: BOB }, call: inner });
const metaTx = (inner: object, extension: unknown) =>
  call('metaTx.dispatch', { meta_tx: { call: inner, extensionVersion: '0', extension } });
const withFee = (name: string, inner: object) => call(`transactionPayment.withFee${name}`, { call: inner });
const vote = (poll: number, who = ALICE) =>
  call('convictionVoting.vote', { poll_index: String(poll), vote: written(who) });
/** Whoever votes has a capital of its own. */
const written = (who: string) => ({
  standard: { vote: '0x81', balance: String([ALICE, BOB, CHARLIE, DAVE].indexOf(who) + 1) },
});
const voted = (who: string, ...poll: unknown[]): ShapedEvent => [
  'convictionVoting.Voted',
  who,
  written(who),
  ...poll.map(String),
];
const main: ShapedEvent = ['utility.IfElseMainSuccess'];
const fell: ShapedEvent = ['utility.IfElseFallbackCalled', { badOrigin: null }];
const batched: ShapedEvent = ['utility.BatchCompleted'];
const dispatchedAs = (result: unknown): ShapedEvent => ['utility.DispatchedAs', result];
const proxied = (result: unknown): ShapedEvent => ['proxy.ProxyExecuted', result];
const controlled = (result: unknown): ShapedEvent => [
  'recovery.RecoveredAccountControlled',
  BOB,
  ALICE,
  '0x',
  result,
];
const dispatched = (result: unknown): ShapedEvent => ['metaTx.Dispatched', result];

const relay = new Rule('polkadot', { number: 5000, day: '2025-01-01' });
const extrinsicOf = (
  top: object,
  events: readonly ShapedEvent[],
  more: Partial<ShapedExtrinsic> = {},
): ShapedExtrinsic => {
  const { method, args } = top as { method: { pallet: string; method: string }; args: object };
  return { call: `${method.pallet}.${method.method}`, args, signer: { id: ALICE }, events, ...more };
};
const remarks = (title: string, num_remarked: number, top: object, ...events: ShapedEvent[]) =>
  relay.extrinsics(extrinsicOf(top, events)).day(title, SUMMARY, { num_remarked });

const r = remarkCall;
remarks('ifElse: main', 2, ifElse(batchAll(r, r), r), batched, main);
remarks('ifElse: fallback, which left the only events', 1, ifElse(batchAll(r, r), r), fell);
remarks('ifElse: neither', 0, ifElse(r, r));
remarks(
  'ifElse in a batch, the last first',
  3,
  batchAll(ifElse(r, batchAll(r, r)), ifElse(batchAll(r, r), r)),
  main,
  batched,
  main,
  batched,
);
remarks('ifElse in the fallback of another', 1, ifElse(r, ifElse(batchAll(r, r), r)), fell, fell);
remarks('batch in a fallback, without its event', 0, ifElse(r, batchAll(r, r)), fell);
remarks('dispatchAsFallible: without an event', 1, fallible(r));
remarks('dispatchAsFallible: with its own', 1, fallible(r), dispatchedAs(OK));
remarks(
  'dispatchAsFallible: an error is that of another',
  1,
  batchAll(dispatchAs(batchAll(r, r)), fallible(r)),
  dispatchedAs(ERR),
  batched,
);
remarks(
  'dispatchAsFallible: takes a good one first',
  1,
  batchAll(dispatchAs(r), fallible(r)),
  dispatchedAs(OK),
  batched,
);
remarks('remote proxy: ok', 1, remote(r), proxied(OK));
remarks(
  'remote proxy: of any chain, with a registered proof',
  1,
  remote(r, 'remoteProxyParaChain.remoteProxyWithRegisteredProof'),
  proxied('Ok'),
);
remarks('remote proxy: an error', 0, remote(r), proxied(ERR));
remarks('remote proxy: no event', 0, remote(r));
remarks(
  'remote proxy: a proof runs nothing',
  0,
  remote(r, 'remoteProxyRelayChain.registerRemoteProxyProof'),
  proxied(OK),
);
remarks(
  'remote proxy in a proxy',
  1,
  call('proxy.proxy', { real: BOB, call: remote(r) }),
  proxied(OK),
  proxied(OK),
);
remarks('inherited account: told ok', 1, inherited(r), controlled(OK));
remarks('inherited account: told an error', 0, inherited(r), controlled(ERR));
remarks('inherited account: not told at all', 1, inherited(r));
remarks(
  'inherited account: told of one of two',
  1,
  batchAll(inherited(batchAll(r, r)), inherited(r)),
  controlled(OK),
  batched,
);
remarks('meta transaction: ok', 1, metaTx(r, []), dispatched({ ok: { actualWeight: null, paysFee: 'Yes' } }));
remarks('meta transaction: an error', 0, metaTx(r, []), dispatched(ERR));
remarks('meta transaction: no event', 0, metaTx(r, []));
remarks(
  'withFee: no event is needed',
  4,
  batchAll(...['Currency', 'Path', 'PaidBy', 'AggregatedPath'].map((name) => withFee(name, r))),
  batched,
);
remarks('withFee: another call of the pallet', 0, withFee('Other', r));
remarks('withFee around a batch without its event', 0, withFee('Currency', batchAll(r)));

// Who votes.
let poll = 100;
const votes = (
  title: string,
  voters: readonly string[],
  top: (poll: number) => object,
  events: (poll: number) => readonly ShapedEvent[] = () => [],
  more: Partial<ShapedExtrinsic> = {},
) => {
  poll++;
  const rows = voters.toSorted().map((voter) => ({ voter, capital_planck: written(voter).standard.balance }));
  relay.extrinsics(extrinsicOf(top(poll), events(poll), more));
  relay.rows(title, 'gov-voter-history', { referendum_index: poll }, rows);
};
const signedBy = (who: unknown) => [{ verifySignature: { signed: { signature: '0x', account: who } } }];
votes(
  'ifElse: the signer',
  [ALICE],
  (n) => ifElse(r, vote(n)),
  () => [fell],
);
votes(
  'dispatchAsFallible: the signed origin',
  [BOB],
  (n) => fallible(vote(n, BOB)),
  () => [dispatchedAs(OK)],
);
votes('dispatchAsFallible: no other origin', [], (n) => fallible(vote(n, BOB), { system: 'Root' }));
votes(
  'remote proxy: the real account',
  [BOB],
  (n) => remote(vote(n, BOB)),
  () => [proxied(OK)],
);
votes('inherited account: the recovered one', [BOB], (n) => inherited(vote(n, BOB)));
votes('withFee: the signer', [ALICE], (n) => withFee('PaidBy', vote(n)));
const ok = () => [dispatched(OK)];
votes(
  'meta transaction: the extension is signed',
  [BOB],
  (n) => metaTx(vote(n, BOB), { signed: { signature: '0x', account: BOB } }),
  ok,
);
votes(
  'meta transaction: an element is signed',
  [BOB],
  (n) => metaTx(vote(n, BOB), [null, { Signed: { signature: '0x', Account: BOB } }]),
  ok,
);
votes(
  'meta transaction: a field is signed',
  [BOB],
  (n) => metaTx(vote(n, BOB), { verifySignature: { signed: { account: BOB } }, nonce: '1' }),
  ok,
);
votes('meta transaction: two levels deep is not printed', [], (n) => metaTx(vote(n, BOB), signedBy(BOB)), ok);
votes(
  'meta transaction: the first one',
  [CHARLIE],
  (n) => metaTx(vote(n, CHARLIE), [{ signed: { account: CHARLIE } }, { signed: { account: BOB } }]),
  ok,
);

// Votes of accounts that the block does not print take the events that are left.
const anonymous = { signer: undefined, nonce: '7', tip: '0', paysFee: true };
votes(
  'unknown: the event names the voter',
  [BOB],
  (n) => vote(n, BOB),
  () => [voted(BOB)],
  anonymous,
);
votes(
  'unknown: no event',
  [],
  (n) => vote(n),
  () => [],
  anonymous,
);
votes(
  'unknown: index of the event',
  [BOB],
  (n) => batchAll(vote(n - 1, BOB), r),
  (n) => [voted(BOB, n), batched],
  anonymous,
);
votes(
  'unknown: what known accounts leave',
  [ALICE, BOB],
  (n) => batchAll(vote(n, BOB), call('proxy.proxy', { real: ALICE, call: vote(n) })),
  () => [voted(BOB), voted(ALICE), proxied(OK), batched],
  anonymous,
);
votes(
  'unknown: in the order of events',
  [BOB, CHARLIE],
  (n) => batchAll(vote(n, BOB), vote(n, CHARLIE)),
  () => [voted(BOB), voted(CHARLIE), batched],
  anonymous,
);
votes(
  'unknown: fewer events than votes',
  [BOB],
  (n) => batchAll(vote(n, BOB), vote(n + 500, CHARLIE)),
  () => [voted(BOB), batched],
  anonymous,
);
votes(
  'unknown: an account derived from it too',
  [DAVE],
  (n) => call('utility.asDerivative', { index: '1', call: vote(n, DAVE) }),
  () => [voted(DAVE)],
  anonymous,
);
votes(
  'unknown: a meta transaction without a signer',
  [BOB],
  (n) => metaTx(vote(n, BOB), ['0x']),
  () => [voted(BOB), dispatched(OK)],
);
votes(
  'known: the root takes no event',
  [],
  (n) => call('sudo.sudo', { call: vote(n) }),
  () => [voted(BOB), ['sudo.Sudid', OK]],
);

// What needs no account counts, and what needs one does not.
const standing = (
  title: string,
  is_final: boolean,
  top: (poll: number) => object,
  more: Partial<ShapedExtrinsic>,
) => {
  poll++;
  relay.extrinsics(extrinsicOf(vote(poll), []), extrinsicOf(top(poll), [], more));
  relay.rows(title, 'gov-voter-history', { referendum_index: poll }, [{ voter: ALICE, is_final }]);
};
const removeVote = (n: number) => call('convictionVoting.removeVote', { class: null, index: String(n) });
const removeOther = (n: number) =>
  call('convictionVoting.removeOtherVote', { target: { id: ALICE }, class: '0', index: String(n) });
standing('unknown: removes nothing of its own', true, removeVote, anonymous);
standing('unknown: removes the vote of another', false, removeOther, anonymous);
standing('known: removes its own', false, removeVote, {});
relay
  .extrinsics(extrinsicOf(batchAll(r, r), [batched], anonymous))
  .day('unknown: remarks', SUMMARY, { num_remarked: 2 });

export const wrapperRules = [relay];
