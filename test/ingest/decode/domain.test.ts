import { query } from 'chdb';
import { describe, expect, test } from 'vitest';
import {
  type CallTree,
  DOMAINS,
  domainOf,
  domainSql,
  isWrapper,
  PALLET_DOMAIN,
} from '../../../ingest/decode/domain.ts';
import { type Block, recordedFiles, recordedLines } from './recorded.ts';

const call = (qualified: string, ...inner: CallTree[]): CallTree => {
  const [pallet = '', name = ''] = qualified.split('.');
  return { pallet, call: name, inner };
};
const domain = ({ pallet, call, inner }: CallTree) => domainOf(pallet, call, inner);

describe('the domain of a call', () => {
  test.each([
    ['balances.transferKeepAlive', 'Assets'],
    ['nominationPools.join', 'Staking'],
    ['convictionVoting.vote', 'Governance'],
    ['identity.setIdentity', 'Governance'],
    ['broker.purchase', 'Compute'],
    ['paras.setHeads', 'Compute'],
    ['timestamp.set', 'Consensus'],
    ['system.remark', 'System'],
  ])('%s is %s by the table', (name, expected) => {
    expect(domain(call(name))).toBe(expected);
  });

  test.each([
    ['polkadotXcm.limitedTeleportAssets', 'Assets'],
    ['polkadotXcm.send', 'System'],
    ['xcmPallet.forceXcmVersion', 'System'],
  ])('%s is %s, as only user transfers are assets', (name, expected) => {
    expect(domain(call(name))).toBe(expected);
  });

  test.each([
    ['parasInherent.enter', 'paraInherent.enter'],
    ['parasInclusion.x', 'paraInclusion.x'],
    ['electionsPhragmen.vote', 'phragmenElection.vote'],
    ['Balances.transfer_keep_alive', 'balances.transferKeepAlive'],
    ['PolkadotXcm.force_xcm_version', 'polkadotXcm.forceXcmVersion'],
  ])('%s has that of %s', (spelling, name) => {
    expect(domain(call(spelling))).toBe(domain(call(name)));
  });

  test.each([
    ['bridgeRococoParachains', 'Consensus'],
    ['bridgeWestendMessages', 'Consensus'],
    ['wrappedAssets', 'Assets'],
    ['treasuryAssets', 'Assets'],
    ['tokensExtra', 'Assets'],
    ['dexGeneral', 'Assets'],
    ['lendingPools', 'Assets'],
    ['openTechCommitteeCollective', 'Governance'],
    ['rankedReferenda', 'Governance'],
    ['communityTreasury', 'Governance'],
    ['evmForeign', 'Compute'],
    ['ethereumXcm', 'Compute'],
    ['contractsRegistry', 'Compute'],
    ['parachainInfoExtra', 'Consensus'],
    ['bridgeRococoGrandpa', 'Consensus'],
    ['anythingElse', 'System'],
  ])('an unknown pallet %s is %s by its name', (pallet, expected) => {
    expect(domainOf(pallet, 'call')).toBe(expected);
  });
});

describe('the domain of a wrapper', () => {
  const transfer = call('balances.transfer');
  const vote = call('convictionVoting.vote');

  test.each([
    'utility.batch',
    'proxy.proxy',
    'multisig.asMulti',
    'sudo.sudo',
    'recovery.asRecovered',
    'scheduler.schedule',
    'revive.ethSubstrateCall',
    'utility.ifElse',
    'utility.dispatchAsFallible',
    'remoteProxyRelayChain.remoteProxy',
    'remoteProxyAssetsHub.remoteProxyWithRegisteredProof',
    'recovery.controlInheritedAccount',
    'metaTx.dispatch',
    'transactionPayment.withFeePath',
  ])('%s takes that of the calls inside it', (wrapper) => {
    expect(domain(call(wrapper, vote))).toBe('Governance');
  });

  test('is System when they do not agree', () => {
    expect(domain(call('utility.batch', transfer, vote))).toBe('System');
  });

  test('follows wrappers inside wrappers', () => {
    const inner = call('utility.batch', transfer, transfer);
    expect(domain(call('proxy.proxy', inner))).toBe('Assets');
  });

  test.each(['proxy.addProxy', 'multisig.approveAsMulti', 'utility.batch', 'scheduler.cancel'])(
    'is System when nothing is inside: %s',
    (wrapper) => {
      expect(domain(call(wrapper))).toBe('System');
    },
  );

  test('does not make other calls of these pallets wrappers', () => {
    expect(isWrapper('recovery', 'createRecovery')).toBe(false);
    expect(isWrapper('remoteProxyRelayChain', 'registerRemoteProxyProof')).toBe(false);
    expect(isWrapper('transactionPayment', 'withFeeOfFuture')).toBe(false);
    expect(isWrapper('xRemoteProxy', 'remoteProxy')).toBe(false);
    expect(domainOf('revive', 'call')).toBe('Compute');
  });
});

describe('the recorded extrinsics', () => {
  const extrinsics = recordedFiles('blocks')
    .flatMap((file) => recordedLines(file))
    .flatMap((line) => (JSON.parse(line) as Block).extrinsics);
  const named = extrinsics.map((extrinsic) => [extrinsic.method.pallet, extrinsic.method.method] as const);

  test('inherents are Consensus, so that a feed without Consensus and System shows none', () => {
    const inherents = named.filter(([pallet]) =>
      [
        'timestamp',
        'parachainSystem',
        'paraInherent',
        'parasInherent',
        'parachains',
        'finalityTracker',
        'imOnline',
        'authorInherent',
        'randomness',
      ].includes(pallet),
    );
    expect(inherents.length).toBeGreaterThan(0);
    expect(new Set(inherents.map(([pallet, name]) => domainOf(pallet, name)))).toEqual(
      new Set(['Consensus']),
    );
    expect(named.filter(([pallet, name]) => domainOf(pallet, name) === 'Consensus').length).toBe(
      inherents.length,
    );
  });

  test('System without looking inside is wrappers and remarks only', () => {
    const system = named.filter(([pallet, name]) => domainOf(pallet, name) === 'System');
    expect(new Set(system.map(([pallet]) => pallet))).toEqual(new Set(['sudo', 'system', 'utility']));
  });
});

test('SQL and TypeScript agree on every pallet, exception, pattern and spelling', () => {
  const pallets = [...PALLET_DOMAIN.keys()].flatMap((name) => [name, name.toUpperCase(), `${name}Extra`]);
  const patterns = [
    'bridgeXMessages',
    'bridge_x_parachains',
    'assets',
    'xPools',
    'poolsX',
    'dexes',
    'grandpaX',
    'remoteProxyTreasury',
    'xRemoteProxy',
    '',
  ];
  const names = [
    'send',
    'forceXcmVersion',
    'force_xcm_version',
    'ethSubstrateCall',
    'asRecovered',
    'controlInheritedAccount',
    'dispatch',
    'withFeePath',
    'remoteProxy',
    'remote_proxy_with_registered_proof',
    'registerRemoteProxyProof',
    'transfer',
  ];
  const rows = [...pallets, ...patterns].flatMap((pallet) => names.map((name) => [pallet, name] as const));
  const list = (values: readonly string[]) => `[${values.map((value) => `'${value}'`).join(', ')}]`;
  const at = `${list([...pallets, ...patterns])}[intDiv(number, ${names.length}) + 1] AS p,
    ${list(names)}[number % ${names.length} + 1] AS c`;
  const sql = `SELECT ${domainSql('p', 'c')} AS d FROM (SELECT number, ${at} FROM numbers(${rows.length})) ORDER BY number`;
  const answered = query(sql, 'TabSeparated').trimEnd().split('\n');
  expect(answered).toEqual(rows.map(([pallet, name]) => domainOf(pallet, name)));
  expect(new Set(answered)).toEqual(new Set(DOMAINS));
});
