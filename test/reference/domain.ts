import { type Call, innerCalls, isNamed, isRemoteProxy, type MethodName } from './calls.ts';

export type Domain = 'Assets' | 'Staking' | 'Governance' | 'Compute' | 'Consensus' | 'System';

const PALLETS: Readonly<Record<Domain, string>> = {
  Assets: `balances assets foreignAssets poolAssets assetConversion assetConversionMigration assetTxPayment
    assetRate nfts uniques nftFractionalization vesting claims indices assetRewards assetsFreezer
    foreignAssetsFreezer poolAssetsFreezer polkadotXcm xcmPallet snowbridgeSystemFrontend toKusamaXcmRouter
    toPolkadotXcmRouter toRococoXcmRouter crowdloan gilt nis tokens currencies xTokens ormlXcm omnipool router
    stableswap dex loans vaults`,
  Staking: `staking nominationPools voterList bagsList fastUnstake delegatedStaking electionProviderMultiPhase
    multiBlockElection multiBlockElectionVerifier multiBlockElectionSigned multiBlockElectionUnsigned
    stakingAhClient stakingRcClient collatorSelection parachainStaking collatorStaking dappStaking
    rootOffences`,
  Governance: `convictionVoting referenda whitelist treasury bounties childBounties multiAssetBounties preimage
    democracy council technicalCommittee phragmenElection electionsPhragmen technicalMembership tips society
    fellowshipCollective fellowshipReferenda fellowshipCore fellowshipSalary fellowshipTreasury
    ambassadorCollective ambassadorReferenda ambassadorCore ambassadorSalary ambassadorTreasury
    ambassadorContent secretaryCollective secretarySalary alliance allianceMotion identity identityMigrator
    parameters dispatchWhitelist`,
  Compute: `revive contracts ethereum evm evmAccounts broker coretime onDemand onDemandAssignmentProvider
    registrar slots auctions paras assignedSlots parachainsAssigner wasm smartContract`,
  Consensus: `timestamp parachainSystem paraInherent parasInherent paraInclusion parasInclusion parachains
    parasShared initializer parasDisputes parasSlashing babe aura auraExt grandpa beefy beefyMmrLeaf mmr
    session historical offences imOnline authorship authorInherent authorityDiscovery randomness
    finalityTracker bridgeKusamaGrandpa bridgePolkadotGrandpa bridgeRelayers ethereumBeaconClient
    ethereumInboundQueue ethereumInboundQueueV2 ethereumOutboundQueue ethereumOutboundQueueV2 ethereumSystem
    ethereumSystemV2`,
  System: `system utility proxy remoteProxyRelayChain multisig scheduler sudo recovery metaTx parachainInfo
    weightReclaim multiBlockMigrations stateTrieMigration messageQueue xcmpQueue dmpQueue cumulusXcm hrmp
    configuration transactionPayment ahMigrator ahOps rcMigrator rootTesting glutton transactionStorage`,
};

const DOMAIN_OF_PALLET = new Map(
  Object.entries(PALLETS).flatMap(([domain, pallets]) =>
    pallets.split(/\s+/).map((pallet) => [pallet, domain as Domain] as const),
  ),
);

/** For pallets that no table lists, the first pattern that fits decides. */
const PATTERNS: readonly (readonly [RegExp, Domain])[] = [
  [/^bridge.*(parachains|messages)$/i, 'Consensus'],
  [/assets|^tokens|^dex|pools$/i, 'Assets'],
  [/collective|referenda|treasury/i, 'Governance'],
  [/^evm|^ethereum|^contracts/i, 'Compute'],
  [/^para|grandpa/i, 'Consensus'],
];

const WITH_FEE = ['withFeeCurrency', 'withFeePath', 'withFeePaidBy', 'withFeeAggregatedPath'];

const WRAPPER_PALLETS = ['utility', 'proxy', 'multisig', 'sudo', 'scheduler'];

/** The subject of a call. A wrapper is about what it wraps when all of that agrees, executed or not. */
export function domainOf(call: Call): Domain {
  if (!isWrapper(call)) return domainOfMethod(call);
  const domains = new Set(innerCalls(call).map(domainOf));
  const [domain] = domains;
  return domain !== undefined && domains.size === 1 ? domain : 'System';
}

/** The subject of a call by its name alone. */
export function domainOfMethod(name: MethodName): Domain {
  const isPlumbing = ['polkadotXcm', 'xcmPallet'].some((pallet) =>
    isNamed(name, pallet, 'send', 'forceXcmVersion'),
  );
  if (isPlumbing) return 'System';
  const listed = DOMAIN_OF_PALLET.get(name.pallet);
  return listed ?? PATTERNS.find(([pattern]) => pattern.test(name.pallet))?.[1] ?? 'System';
}

function isWrapper(call: Call): boolean {
  return (
    WRAPPER_PALLETS.includes(call.pallet) ||
    isNamed(call, 'recovery', 'asRecovered', 'controlInheritedAccount') ||
    isNamed(call, 'revive', 'ethSubstrateCall') ||
    isNamed(call, 'metaTx', 'dispatch') ||
    isNamed(call, 'transactionPayment', ...WITH_FEE) ||
    isRemoteProxy(call)
  );
}
