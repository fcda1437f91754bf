import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { History } from '../../generator/history.ts';
import { openServed, type Served } from './coretime/served.ts';

// Numbers of one record that must equal numbers of another, without a reference.

const BITS_OF_CORE = 80;
/** On a loaded machine one history takes minutes. */
const PATIENCE_MS = 600_000;

interface Vote {
  readonly referendum_index: number;
  readonly chain: string;
  readonly vote_direction: 'aye' | 'nay' | 'abstain';
  readonly votes_planck: string;
  readonly capital_planck: string;
  readonly delegated_votes_planck: string;
  readonly vote_type: string;
  readonly is_final: boolean;
}
interface Spend {
  readonly relay_chain: string;
  readonly purchase_type: 'bulk' | 'renewal';
  readonly region_begin: number;
  readonly core: number;
  readonly duration: number;
  readonly price_planck: string;
}
interface Region {
  readonly relay_chain: string;
  readonly region_begin: number;
  readonly r_core: number;
  readonly duration: number;
  readonly mask_bits: number;
  readonly status: string;
}
type Row = Readonly<Record<string, never>>;

let served: Served;
let history: History;
const rows = async <T>(url: string) => (await served.rows(url)) as unknown as readonly T[];

beforeAll(async () => {
  history = new History(4777, { blocks: 450, isWhole: true });
  served = await openServed();
  await served.ingest(...history.lines);
}, PATIENCE_MS);
afterAll(() => served.close());

const sum = (amounts: readonly string[]) => amounts.reduce((total, amount) => total + BigInt(amount), 0n);

describe('the votes of a referendum that has ended', () => {
  it.each(['polkadot', 'kusama'])('add up to its final tally, on %s', async (relay) => {
    const all = await rows<Vote & { relay_chain: string }>('/api/gov-voter-history');
    const own = all.filter((row) => row.relay_chain === relay && row.is_final);
    const tallies = [...(history.tallies[relay] ?? [])];
    expect(tallies.length).toBeGreaterThan(3);
    const counted = tallies.map(([index]) => {
      const votes = own.filter((row) => row.referendum_index === index);
      const on = (...sides: readonly string[]) => votes.filter((row) => sides.includes(row.vote_direction));
      return [
        index,
        {
          ayes: sum(on('aye').map((row) => row.votes_planck)),
          nays: sum(on('nay').map((row) => row.votes_planck)),
          support: sum(on('aye', 'abstain').map((row) => row.capital_planck)),
        },
      ];
    });
    expect(counted).toEqual(tallies);
  });

  it('have the sum of their delegations', async () => {
    const all = await rows<Vote>('/api/gov-voter-history');
    const delegated = all.filter((row) => row.vote_type === 'Delegated');
    expect(delegated.length).toBeGreaterThan(3);
    expect(sum(all.map((row) => row.delegated_votes_planck))).toBe(
      sum(delegated.map((row) => row.votes_planck)),
    );
  });
});

describe('payments for cores', () => {
  it.each(['polkadot', 'kusama'])(
    'is the burn of the relay chain, of its sales and of its accounts, %s',
    async (relay) => {
      const of = `?relay_chain=${relay}`;
      const purchases = await rows<Spend>(`/api/coretime-purchases${of}`);
      const total = sum(purchases.map(({ price_planck }) => price_planck));
      const [burn] = await rows<{ total_burn_planck: string }>(`/api/coretime-total-burn${of}`);
      expect(burn?.total_burn_planck).toBe(total.toString());
      const accounts = await rows<{ total_spend_planck: string }>(`/api/coretime-account-spend${of}`);
      expect(sum(accounts.map((row) => row.total_spend_planck))).toBe(total);
      const sales = await rows<{ region_begin: number; total_burn_planck: string }>(
        `/api/coretime-sales${of}`,
      );
      const begins = new Set(sales.map(({ region_begin }) => region_begin));
      const ofSales = purchases.filter(({ region_begin }) => begins.has(region_begin));
      expect(sum(sales.map((row) => row.total_burn_planck))).toBe(
        sum(ofSales.map((row) => row.price_planck)),
      );
      const metrics = await rows<{ total_burn_planck: string }>(`/api/coretime-sale-metrics${of}`);
      expect(metrics.map((row) => row.total_burn_planck)).toEqual(sales.map((row) => row.total_burn_planck));
    },
  );

  it('are for regions that cover each sold core exactly once', async () => {
    const bought = (await rows<Spend>('/api/coretime-purchases')).filter(
      (row) => row.purchase_type === 'bulk',
    );
    const regions = await rows<Region>('/api/coretime-regions');
    expect(bought.length).toBeGreaterThan(10);
    for (const { relay_chain, region_begin, core, duration } of bought) {
      const parts = regions.filter(
        (region) =>
          region.relay_chain === relay_chain &&
          region.r_core === core &&
          region.region_begin >= region_begin &&
          region.region_begin < region_begin + duration &&
          !['partitioned', 'interlaced'].includes(region.status),
      );
      const covered = parts.reduce((total, part) => total + part.mask_bits * part.duration, 0);
      expect([relay_chain, region_begin, core, covered]).toEqual([
        relay_chain,
        region_begin,
        core,
        BITS_OF_CORE * duration,
      ]);
    }
  });
});

describe('days, months and chains', () => {
  it('the deployments of all days add up to the deployed contracts', async () => {
    const days = await rows<{ count: number }>('/api/contracts-deployed-heatmap');
    const emitted = history.lines
      .filter(({ line }) => !line.includes('"westmint"'))
      .flatMap(({ line }) => line.match(/"method":"Instantiated"/g) ?? []);
    expect(days.reduce((total, { count }) => total + count, 0)).toBe(emitted.length);
  });

  it('the additive columns of an ecosystem are the sums of its chains', async () => {
    const all = await rows<Row>('/api/daily-tps?start_date=2023-01-01');
    const ecosystems = all.filter((row) => row.chain === ('ecosystem' as never));
    expect(ecosystems.length).toBeGreaterThan(3);
    for (const ecosystem of ecosystems) {
      const chains = all.filter(
        (row) =>
          row.date === ecosystem.date && row.relay_chain === ecosystem.relay_chain && row !== ecosystem,
      );
      for (const field of ['num_transactions_combined', 'num_extrinsics', 'num_blocks']) {
        expect(chains.reduce((total, row) => total + (row[field] as unknown as number), 0)).toBe(
          ecosystem[field],
        );
      }
    }
  });

  it('the accounts of a month are the distinct accounts of its days, at most their sum', async () => {
    const days = await rows<Row>('/api/daily-summary?start_date=2023-01-01&end_date=2100-01-01');
    const months = await rows<Row>('/api/monthly-unique-accounts');
    for (const month of months) {
      const active = days
        .filter(
          (row) =>
            row.chain === month.chain &&
            row.relay_chain === month.relay_chain &&
            String(row.date).slice(0, 7) === String(month.month).slice(0, 7),
        )
        .map((row) => row.num_accounts_active_signed_combined as unknown as number);
      const union = month.number_of_active_addresses as unknown as number;
      expect(union).toBeGreaterThanOrEqual(Math.max(...active));
      expect(union).toBeLessThanOrEqual(active.reduce((total, one) => total + one, 0));
    }
  });

  it('the rewards of all accounts of a day equal the events of the day', async () => {
    const rewards = await rows<{
      reward_planck: string;
      staking_reward_planck: string;
      pool_reward_planck: string;
    }>('/api/daily-staking-rewards?start_date=2024-01-01&end_date=2100-01-01');
    expect(rewards.length).toBeGreaterThan(10);
    for (const row of rewards) {
      expect(BigInt(row.reward_planck)).toBe(
        BigInt(row.staking_reward_planck) + BigInt(row.pool_reward_planck),
      );
    }
  });
});
