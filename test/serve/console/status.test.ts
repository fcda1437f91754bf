import { describe, expect, it } from 'vitest';
import type { SystemStatus } from '../../../aggregate/status/status.ts';
import { type StatusContent, statusBody, stripsOf } from '../../../serve/console/pages/status.ts';
import { STATUS_EXAMPLE } from '../../../serve/metrics/catalogue-shapes.ts';

const chain = STATUS_EXAMPLE.chains[0] as SystemStatus['chains'][number];
const metric = STATUS_EXAMPLE.metrics[0] as SystemStatus['metrics'][number];
const status = STATUS_EXAMPLE as SystemStatus;
const SECRET = 'Code: 241 at 10.0.0.7 <script>alert(1)</script>';

const body = (now: SystemStatus, isOperator: boolean, gaps: StatusContent['gaps'] = []) =>
  statusBody({ now, gaps, strips: stripsOf(gaps, STORED, '2026-01-31') }, isOperator).text;
const STORED: Parameters<typeof stripsOf>[1] = [
  {
    ...{ relay_chain: 'polkadot', chain: 'polkadot' },
    ...{ days: ['2026-01-01', '2026-01-31'], gaps: [['2026-01-05', '2026-01-08']] },
  },
];

const failing: SystemStatus = {
  ...status,
  metrics: [
    {
      ...metric,
      pending_from: '2025-07-14',
      pending_reason: 'failed',
      failures: [
        {
          metric: 'daily_tps',
          relay_chains: ['polkadot'],
          from_day: '2025-07-14',
          until_day: '2025-07-15',
          reason: SECRET,
          failed_since: '2025-07-15T00:00:00.000Z',
          tried_at: '2025-07-15T00:00:00.000Z',
          attempts: 3,
          next_attempt_at: null,
        },
      ],
    },
  ],
  computing: { ...status.computing, failed: [{ id: 'daily_tps', reason: SECRET, attempts: 3 }] },
};

describe('the status', () => {
  it('says in a sentence how it is', () => {
    const text = (now: SystemStatus) => body(now, false);
    expect(text(status)).toContain('All stored data are computed.');
    expect(text({ ...status, chains: [] })).toContain('No chain is stored yet.');
    expect(text({ ...status, computing: { ...status.computing, touched_days_waiting: 1200 } })).toContain(
      '1,200 days are being computed',
    );
    expect(text({ ...status, computing: { ...status.computing, held: true } })).toContain(
      'A bulk load is under way',
    );
    expect(text(failing)).toContain('One metric cannot be computed.');
  });

  it('says to operators alone why a computation fails', () => {
    const visitor = body(failing, false);
    expect(visitor).toContain('Fails');
    expect(visitor).not.toContain('10.0.0.7');
    const operator = body(failing, true);
    expect(operator.split('10.0.0.7')).toHaveLength(3);
    expect(operator).not.toContain('<script>');
  });

  it('lists the gaps of each chain, and how many more there are', () => {
    const ranges = Array.from({ length: 9 }, (_, i) => ({ from: i * 1000, to: i * 1000 + 5 }));
    const none = { total: 0, ranges_total: 0, ranges: [] };
    const gap = {
      ...{ relay_chain: 'polkadot', chain: 'polkadot' },
      missing_blocks: { total: 9000, ranges_total: 900, ranges },
      missing_days: none,
      days_without_price: { ...none, token: 'DOT' },
    };
    const text = body(status, false, [gap]);
    expect(text).toContain('<b>9,000</b>: 0 – 5, 1,000 – 1,005');
    expect(text).toContain('and 895 more ranges');
    expect(text).toContain(
      '<title>Polkadot: blocks of 29 of 31 days since 2026-01-01, missing in 1 place</title>',
    );
  });

  it('holds hundreds of chains, a clock that is wrong and what others wrote', () => {
    const chains = Array.from({ length: 300 }, (_, i) => ({
      ...chain,
      chain: `chain-${i}`,
      newest_block_at: i === 0 ? null : '2099-01-01T00:00:00.000Z',
      lag_seconds: i === 0 ? null : 0,
    }));
    const letter = {
      received_at: '2025-07-14T00:00:00.000Z',
      file: '<b>\u202e.ndjson',
      line: 1,
      reason: 'x'.repeat(10 ** 6),
    };
    const text = body({ ...status, chains, dead_letters: { total: 1, latest: [letter] } }, false);
    expect(text).toContain('<a href="/chains/chain-299">Chain 299</a>');
    expect(text).not.toMatch(/<b>\u202e|NaN|undefined/);
    expect(text.length).toBeLessThan(200_000);
  });
});
