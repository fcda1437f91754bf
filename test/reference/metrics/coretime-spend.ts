import { printAccount } from '../accounts.ts';
import { dayOf, isoOf } from '../calendar.ts';
import { coretimeRelays, type Spend, salesOf, spendsOf, whole } from '../coretime.ts';
import type { Input } from '../input.ts';
import { isArray, isObject, type Json } from '../json.ts';
import { amountFields, worthOn } from '../money.ts';
import { decimalToNumber, parseIndex, sum } from '../numbers.ts';

const RELAYS = ['polkadot', 'kusama', 'solo'];

export type CoretimePurchase = {
  relay_chain: string;
  purchase_type: 'bulk' | 'renewal';
  who: string;
  region_begin: number;
  core: number;
  mask: string | null;
  price: number | null;
  price_planck: string | null;
  price_usd: number | null;
  duration: number;
  block_number: number;
  event_index: number;
  extrinsic_id: string | null;
  timestamp: string;
};

export function coretimePurchases(input: Input): CoretimePurchase[] {
  return coretimeRelays(RELAYS).flatMap((relay) =>
    spendsOf(input, relay).map((spend) => ({
      ...common(input, relay, spend),
      purchase_type: spend.type,
      core: spend.core,
      mask: spend.mask,
    })),
  );
}

export type CoretimeRenewal = Omit<CoretimePurchase, 'purchase_type' | 'mask'> & {
  old_core: number;
  workload: readonly { mask: string; assignment: Assignment }[];
  task: number | null;
  auto_renewal: boolean;
};
type Assignment = { task: number } | 'Pool' | 'Idle';

export function coretimeRenewals(input: Input): CoretimeRenewal[] {
  return coretimeRelays(RELAYS).flatMap((relay) =>
    spendsOf(input, relay)
      .filter(({ type }) => type === 'renewal')
      .map((spend) => {
        const { data } = spend.event;
        const workload = isArray(data[6]) ? data[6].map(readWork) : [];
        const tasks = workload.flatMap(({ assignment }) =>
          typeof assignment === 'object' ? [assignment.task] : [],
        );
        return {
          ...common(input, relay, spend),
          old_core: whole(data[2]),
          core: spend.core,
          workload,
          task: tasks[0] ?? null,
          auto_renewal: spend.extrinsicId === null,
        };
      }),
  );
}

function common(input: Input, relay: string, spend: Spend) {
  const { chain, block, event, price } = spend;
  return {
    relay_chain: relay,
    who: printAccount(spend.who, chain),
    region_begin: spend.begin,
    ...amountFields('price', price, chain),
    price_usd: decimalToNumber(worthOn(input, chain, dayOf(block.time), price)),
    duration: spend.duration,
    block_number: block.height,
    event_index: event.index,
    extrinsic_id: spend.extrinsicId,
    timestamp: isoOf(block.time),
  };
}

function readWork(value: Json): { mask: string; assignment: Assignment } {
  const { mask, assignment } = isObject(value) ? value : {};
  const [kind, content] = isObject(assignment)
    ? (Object.entries(assignment)[0] ?? [])
    : [assignment, undefined];
  const name = String(kind).toLowerCase();
  return {
    mask: String(mask).toLowerCase(),
    assignment: name === 'task' ? { task: parseIndex(content) ?? 0 } : name === 'pool' ? 'Pool' : 'Idle',
  };
}

export type CoretimeAccountSpend = {
  relay_chain: string;
  who: string;
  total_spend: number | null;
  total_spend_planck: string | null;
  bulk_spend: number | null;
  bulk_spend_planck: string | null;
  renewal_spend: number | null;
  renewal_spend_planck: string | null;
  bulk_count: number;
  renewal_count: number;
  first_purchase_at: string;
  last_purchase_at: string;
};

export function coretimeAccountSpend(input: Input): CoretimeAccountSpend[] {
  return coretimeRelays(RELAYS).flatMap((relay) =>
    [...Map.groupBy(spendsOf(input, relay), ({ who }) => who).values()]
      .flatMap((spends) =>
        spends.slice(0, 1).map(({ who, chain }) => rowOfAccount(relay, who, chain, spends)),
      )
      .toSorted((a, b) => {
        const [left, right] = [BigInt(a.total_spend_planck ?? 0), BigInt(b.total_spend_planck ?? 0)];
        if (left !== right) return left > right ? -1 : 1;
        return a.who < b.who ? -1 : 1;
      }),
  );
}

function rowOfAccount(relay: string, who: string, chain: Spend['chain'], spends: readonly Spend[]) {
  const of = (type: Spend['type']) => spends.filter((spend) => spend.type === type);
  const spent = (some: readonly Spend[]) => sum(some.map(({ price }) => price));
  const times = spends.map(({ block }) => block.time);
  return {
    relay_chain: relay,
    who: printAccount(who, chain),
    ...amountFields('total_spend', spent(spends), chain),
    ...amountFields('bulk_spend', spent(of('bulk')), chain),
    ...amountFields('renewal_spend', spent(of('renewal')), chain),
    bulk_count: of('bulk').length,
    renewal_count: of('renewal').length,
    first_purchase_at: isoOf(Math.min(...times)),
    last_purchase_at: isoOf(Math.max(...times)),
  };
}

export type CoretimeTotalBurn = {
  relay_chain: string;
  total_burn: number | null;
  total_burn_planck: string | null;
  sales: number;
  purchases: number;
  renewals: number;
};

export function coretimeTotalBurn(input: Input): CoretimeTotalBurn[] {
  return coretimeRelays(RELAYS).flatMap((relay) => {
    const spends = spendsOf(input, relay);
    const sales = salesOf(input, relay);
    return [...spends, ...sales].slice(0, 1).map(({ chain }) => ({
      relay_chain: relay,
      ...amountFields('total_burn', sum(spends.map(({ price }) => price)), chain),
      sales: sales.length,
      purchases: spends.filter(({ type }) => type === 'bulk').length,
      renewals: spends.filter(({ type }) => type === 'renewal').length,
    }));
  });
}
