import { dayOf } from '../calendar.ts';
import { isNamed } from '../calls.ts';
import { coretimeChain, salesOf } from '../coretime.ts';
import type { Input } from '../input.ts';
import { isObject } from '../json.ts';
import { parseIndex, quotient } from '../numbers.ts';
import { chainGroups, compareKeys, distinct } from '../rows.ts';
import { Payload, snapshotsOf } from '../snapshots.ts';

export type CoretimeUtilization = {
  relay_chain: string;
  date: string;
  cores_offered: number | null;
  system_cores: number | null;
  cores_available: number | null;
  avg_cores_used: number;
  utilization: number | null;
  included_candidates: number;
  relay_blocks: number;
  distinct_paras: number;
};

/** Of both relay chains that sell cores. */
export function coretimeUtilization(input: Input): CoretimeUtilization[] {
  return chainGroups(input.blocks, dayOf)
    .filter(({ relay, chain }) => chain === relay && ['polkadot', 'kusama'].includes(relay))
    .map(({ relay, period: date, blocks }) => {
      const included = blocks.flatMap(({ events }) =>
        events.filter(
          (event) =>
            isNamed(event, 'paraInclusion', 'CandidateIncluded') ||
            isNamed(event, 'parasInclusion', 'CandidateIncluded'),
        ),
      );
      const config = snapshotsOf(input, 'coretime_config').findLast(
        ({ chain, asOf }) => chain === coretimeChain(relay)?.name && dayOf(asOf) <= date,
      );
      const state = config ? new Payload(config.payload) : null;
      const offered =
        offeredBy(input, relay, date) ?? state?.inner('sale_info').index('cores_offered') ?? null;
      const system = state?.list('reservations').length ?? null;
      const available = offered === null || system === null ? null : offered + system;
      const used = { included: BigInt(included.length), blocks: BigInt(blocks.length) };
      return {
        relay_chain: relay,
        date,
        cores_offered: offered,
        system_cores: system,
        cores_available: available,
        avg_cores_used: quotient(used.included, used.blocks),
        utilization: available ? quotient(used.included, used.blocks * BigInt(available)) : null,
        included_candidates: included.length,
        relay_blocks: blocks.length,
        distinct_paras: distinct(included.map(({ data }) => paraOf(data[0]))).size,
      };
    });
}

/** What the newest sale of that day or before offered; of two at one time the one in the later block. */
function offeredBy(input: Input, relay: string, date: string): number | null {
  const sales = salesOf(input, relay)
    .filter(({ block }) => dayOf(block.time) <= date)
    .toSorted((a, b) => compareKeys([a.block.time, a.block.height], [b.block.time, b.block.height]));
  return sales.at(-1)?.offered ?? null;
}

function paraOf(receipt: unknown): number | null {
  const descriptor = isObject(receipt as never) ? (receipt as { descriptor?: unknown }).descriptor : null;
  return isObject(descriptor as never) ? parseIndex((descriptor as { paraId?: never }).paraId) : null;
}
