// The domain of an extrinsic. TypeScript and SQL use the same tables.

export const DOMAINS = ['Assets', 'Staking', 'Governance', 'Compute', 'Consensus', 'System'] as const;
export type Domain = (typeof DOMAINS)[number];

/** A call with the calls inside it, whether or not they were executed. */
export type CallTree = { pallet: string; call: string; inner: readonly CallTree[] };

const PALLETS: Record<Domain, string> = {
  Assets: `
    balances assets foreignAssets poolAssets assetConversion assetConversionMigration assetTxPayment
    assetRate nfts uniques nftFractionalization vesting claims indices assetRewards assetsFreezer
    foreignAssetsFreezer poolAssetsFreezer polkadotXcm xcmPallet snowbridgeSystemFrontend
    toKusamaXcmRouter toPolkadotXcmRouter toRococoXcmRouter crowdloan gilt nis
    tokens currencies xTokens ormlXcm omnipool router stableswap dex loans vaults`,
  Staking: `
    staking nominationPools voterList bagsList fastUnstake delegatedStaking electionProviderMultiPhase
    multiBlockElection multiBlockElectionVerifier multiBlockElectionSigned multiBlockElectionUnsigned
    stakingAhClient stakingRcClient collatorSelection parachainStaking collatorStaking dappStaking
    rootOffences`,
  Governance: `
    convictionVoting referenda whitelist treasury bounties childBounties multiAssetBounties preimage
    democracy council technicalCommittee phragmenElection electionsPhragmen technicalMembership tips
    society fellowshipCollective fellowshipReferenda fellowshipCore fellowshipSalary fellowshipTreasury
    ambassadorCollective ambassadorReferenda ambassadorCore ambassadorSalary ambassadorTreasury
    ambassadorContent secretaryCollective secretarySalary alliance allianceMotion identity
    identityMigrator parameters dispatchWhitelist`,
  Compute: `
    revive contracts ethereum evm evmAccounts broker coretime onDemand onDemandAssignmentProvider
    registrar slots auctions paras assignedSlots parachainsAssigner wasm smartContract smartContracts`,
  Consensus: `
    timestamp parachainSystem paraInherent parasInherent paraInclusion parasInclusion parachains
    parasShared initializer parasDisputes parasSlashing babe aura auraExt grandpa beefy beefyMmrLeaf
    mmr session historical offences imOnline authorship authorInherent authorityDiscovery randomness
    finalityTracker bridgeKusamaGrandpa bridgePolkadotGrandpa bridgeRelayers ethereumBeaconClient
    ethereumInboundQueue ethereumInboundQueueV2 ethereumOutboundQueue ethereumOutboundQueueV2
    ethereumSystem ethereumSystemV2`,
  System: `
    system utility proxy remoteProxyRelayChain multisig scheduler sudo recovery metaTx parachainInfo
    weightReclaim multiBlockMigrations stateTrieMigration messageQueue xcmpQueue dmpQueue cumulusXcm
    hrmp configuration transactionPayment ahMigrator ahOps rcMigrator rootTesting glutton
    transactionStorage`,
};

export const PALLET_DOMAIN: ReadonlyMap<string, Domain> = new Map(
  DOMAINS.flatMap((domain) =>
    PALLETS[domain]
      .trim()
      .split(/\s+/)
      .map((pallet) => [pallet, domain] as const),
  ),
);

/** Pallets whose calls are all wrappers; single wrapper calls follow. A wrapper has the domain of the calls inside it. */
const WRAPPER_PALLETS = ['utility', 'proxy', 'multisig', 'sudo', 'scheduler'];
const WRAPPER_CALLS = [
  'recovery.asRecovered',
  'recovery.controlInheritedAccount',
  'revive.ethSubstrateCall',
  'metaTx.dispatch',
  'transactionPayment.withFeeCurrency',
  'transactionPayment.withFeePath',
  'transactionPayment.withFeePaidBy',
  'transactionPayment.withFeeAggregatedPath',
];
/** Matches every remote proxy pallet: the pallet is named after the chain of the proxies. */
const REMOTE_PROXY = '^remoteproxy[^.]*[.]remoteproxy(withregisteredproof)?$';

/** Calls whose domain differs from that of their pallet. */
const CALL_DOMAIN: Record<string, Domain> = {
  'polkadotXcm.send': 'System',
  'polkadotXcm.forceXcmVersion': 'System',
  'xcmPallet.send': 'System',
  'xcmPallet.forceXcmVersion': 'System',
};

/** Domains of pallets without an entry above. The first matching pattern applies; `*` matches anything. */
const PATTERNS: readonly (readonly [pattern: string, domain: Domain])[] = [
  ['bridge*parachains', 'Consensus'],
  ['bridge*messages', 'Consensus'],
  ['*assets*', 'Assets'],
  ['tokens*', 'Assets'],
  ['dex*', 'Assets'],
  ['*pools', 'Assets'],
  ['*collective*', 'Governance'],
  ['*referenda*', 'Governance'],
  ['*treasury*', 'Governance'],
  ['evm*', 'Compute'],
  ['ethereum*', 'Compute'],
  ['contracts*', 'Compute'],
  ['para*', 'Consensus'],
  ['*grandpa*', 'Consensus'],
];
const OTHERWISE: Domain = 'System';

/** Makes notations equal: `Balances.transfer_all` and `balances.transferAll`. */
const fold = (name: string) => name.toLowerCase().replaceAll('_', '');

const domainOfPallet = new Map([...PALLET_DOMAIN].map(([pallet, domain]) => [fold(pallet), domain]));
const domainOfCall = new Map(Object.entries(CALL_DOMAIN).map(([call, domain]) => [fold(call), domain]));
const wrapperPallets = new Set(WRAPPER_PALLETS.map(fold));
const wrapperCalls = new Set(WRAPPER_CALLS.map(fold));
const remoteProxy = new RegExp(REMOTE_PROXY);
const patterns = PATTERNS.map(([pattern, domain]) => ({
  fits: new RegExp(`^${pattern.replaceAll('*', '.*')}$`),
  domain,
}));

export function isWrapper(pallet: string, call: string): boolean {
  const name = fold(`${pallet}.${call}`);
  return wrapperPallets.has(fold(pallet)) || wrapperCalls.has(name) || remoteProxy.test(name);
}

/** A wrapper has the common domain of the calls inside it, or System if they differ. */
export function domainOf(pallet: string, call: string, inner: readonly CallTree[] = []): Domain {
  if (isWrapper(pallet, call)) {
    const domains = new Set(inner.map((tree) => domainOf(tree.pallet, tree.call, tree.inner)));
    const [only] = domains;
    return domains.size === 1 && only !== undefined ? only : OTHERWISE;
  }
  const name = fold(pallet);
  return (
    domainOfCall.get(fold(`${pallet}.${call}`)) ??
    domainOfPallet.get(name) ??
    patterns.find(({ fits }) => fits.test(name))?.domain ??
    OTHERWISE
  );
}

/**
 * The domain of a top-level call, as a ClickHouse expression over two column expressions. The expression does not see nested
 * calls, so the domain of a wrapper is System.
 */
export function domainSql(pallet: string, call: string): string {
  const foldSql = (expression: string) => `replaceAll(lower(${expression}), '_', '')`;
  const name = foldSql(pallet);
  const qualified = new Map([
    ...domainOfCall,
    ...[...wrapperCalls].map((wrapper) => [wrapper, OTHERWISE] as const),
  ]);
  const patterns = PATTERNS.map(
    ([pattern, domain]) => `${name} LIKE ${text(pattern.replaceAll('*', '%'))}, ${text(domain)}`,
  );
  const full = `concat(${name}, '.', ${foldSql(call)})`;
  const byPattern = `multiIf(match(${full}, ${text(REMOTE_PROXY)}), ${text(OTHERWISE)}, ${patterns.join(', ')}, ${text(OTHERWISE)})`;
  // `transform` is faster to plan than a branch for each name, and every batch is planned again.
  return lookUp(full, qualified, lookUp(name, domainOfPallet, byPattern));
}

function lookUp(value: string, table: ReadonlyMap<string, Domain>, otherwise: string): string {
  const list = (values: Iterable<string>) => `[${[...values].map(text).join(', ')}]`;
  return `transform(${value}, ${list(table.keys())}, ${list(table.values())}, ${otherwise})`;
}

/** A string literal. Escapes nothing, since the tables above contain no quote and no backslash. */
function text(value: string): string {
  return `'${value}'`;
}
