import { isoOf } from '../calendar.ts';
import { coretimeRelays, type Sale, salesOf, spendsOf, stateOfSale } from '../coretime.ts';
import type { Input } from '../input.ts';
import { amountFields } from '../money.ts';
import { quotient, sum } from '../numbers.ts';
import { distinct } from '../rows.ts';

export type CoretimeSale = {
  relay_chain: string;
  region_begin: number;
  region_end: number;
  sale_cycle: number;
  sale_start: number;
  leadin_length: number;
  start_price: number | null;
  start_price_planck: string | null;
  end_price: number | null;
  end_price_planck: string | null;
  ideal_cores_sold: number;
  cores_offered: number;
  first_core: number | null;
  cores_sold: number;
  sellout_price: number | null;
  sellout_price_planck: string | null;
  total_burn: number | null;
  total_burn_planck: string | null;
  sale_init_block: number;
  sale_init_at: string;
};

export type CoretimeSaleMetrics = {
  relay_chain: string;
  region_begin: number;
  bulk_purchases: number;
  renewals: number;
  bulk_spend: number | null;
  bulk_spend_planck: string | null;
  renewal_spend: number | null;
  renewal_spend_planck: string | null;
  total_burn: number | null;
  total_burn_planck: string | null;
  min_purchase_price: number | null;
  min_purchase_price_planck: string | null;
  avg_purchase_price: number | null;
  max_purchase_price: number | null;
  max_purchase_price_planck: string | null;
  unique_buyers: number;
  sold_out: boolean;
};

const RELAYS = ['polkadot', 'kusama', 'solo'];

export function coretimeSales(input: Input): CoretimeSale[] {
  return cyclesOf(input).map(({ relay, sale, cycle, spends }) => {
    const state = stateOfSale(input, relay, sale.begin);
    const bulk = spends.filter(({ type }) => type === 'bulk');
    return {
      relay_chain: relay,
      region_begin: sale.begin,
      region_end: sale.end,
      sale_cycle: cycle,
      sale_start: sale.saleStart,
      leadin_length: sale.leadin,
      ...amountFields('start_price', sale.startPrice, sale.chain),
      ...amountFields('end_price', sale.endPrice, sale.chain),
      ideal_cores_sold: sale.idealSold,
      cores_offered: sale.offered,
      first_core: state?.index('first_core') ?? null,
      cores_sold: state?.index('cores_sold') ?? bulk.length,
      ...amountFields('sellout_price', state?.amountOrNull('sellout_price') ?? null, sale.chain),
      ...amountFields('total_burn', sum(spends.map(({ price }) => price)), sale.chain),
      sale_init_block: sale.block.height,
      sale_init_at: isoOf(sale.block.time),
    };
  });
}

export function coretimeSaleMetrics(input: Input): CoretimeSaleMetrics[] {
  return cyclesOf(input).map(({ relay, sale, spends }) => {
    const bulk = spends.filter(({ type }) => type === 'bulk');
    const renewals = spends.filter(({ type }) => type === 'renewal');
    const prices = bulk.map(({ price }) => price).toSorted((a, b) => (a < b ? -1 : 1));
    const spent = (of: typeof spends) => sum(of.map(({ price }) => price));
    const unit = 10n ** BigInt(sale.chain.decimals);
    return {
      relay_chain: relay,
      region_begin: sale.begin,
      bulk_purchases: bulk.length,
      renewals: renewals.length,
      ...amountFields('bulk_spend', spent(bulk), sale.chain),
      ...amountFields('renewal_spend', spent(renewals), sale.chain),
      ...amountFields('total_burn', spent(spends), sale.chain),
      ...amountFields('min_purchase_price', prices[0] ?? null, sale.chain),
      avg_purchase_price: bulk.length === 0 ? null : quotient(spent(bulk), BigInt(bulk.length) * unit),
      ...amountFields('max_purchase_price', prices.at(-1) ?? null, sale.chain),
      unique_buyers: distinct(bulk.map(({ who }) => who)).size,
      sold_out: spends.length >= sale.offered,
    };
  });
}

/** The sales by relay chain and beginning, numbered from one, with what was bought and renewed for each. */
function cyclesOf(input: Input) {
  return coretimeRelays(RELAYS).flatMap((relay) => {
    const spends = spendsOf(input, relay);
    const byBegin = new Map<number, Sale>(salesOf(input, relay).map((sale) => [sale.begin, sale]));
    return [...byBegin.values()]
      .toSorted((a, b) => a.begin - b.begin)
      .map((sale, index) => ({
        relay,
        sale,
        cycle: index + 1,
        spends: spends.filter(({ begin }) => begin === sale.begin),
      }));
  });
}
