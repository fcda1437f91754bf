import './profile.ts';

// Suites of the embedded profile, unchanged, as many as a check has time for; the project `suites` has every one of them.
process.env.INPUTS ??= 'everything recorded';
for (const suite of [
  '../aggregate/metrics/hand.test.ts',
  '../aggregate/metrics/equality.test.ts',
  '../ingest/dead-letters/dead-letters.test.ts',
])
  await import(suite);
