// The suites of the embedded profile, unchanged, on Kafka, Redis and ClickHouse over HTTP. `SUITES=all` runs every
// one that compares what is served; otherwise as many as a check has time for.
const { SUITES } = process.env;

process.env.TEST_PROFILE = 'distributed';
if (SUITES !== 'all') process.env.INPUTS ??= 'everything recorded';
await import('../metrics/hand.test.ts');
await import('../metrics/equality.test.ts');
await import('../ingest/letters.test.ts');
if (SUITES === 'all') {
  await import('../ingest/load.test.ts');
  await import('../facts/contracts/contracts.test.ts');
  await import('../facts/coretime/recorded.test.ts');
  await import('../facts/coretime/regions.test.ts');
  await import('../facts/coretime/sales.test.ts');
  await import('../facts/coretime/utilization.test.ts');
  await import('../facts/governance/recorded.test.ts');
  await import('../facts/governance/bounties.test.ts');
  await import('../facts/governance/voter-history.test.ts');
  await import('../facts/governance/voting-months.test.ts');
  await import('../facts/state/snapshots.test.ts');
  await import('../facts/state/staking-rewards.test.ts');
}
