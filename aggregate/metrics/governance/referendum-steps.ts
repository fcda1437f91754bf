import { type Sql, sql } from '../../../infra/sql.ts';
import { relayOf, type Window } from '../../../ingest/raw/canonical.ts';
import type { EntityId } from '../../metric.ts';
import { Chains } from '../shared/chains.ts';
import type { Fact } from '../shared/facts.ts';
import { chainsOf } from '../shared/sql.ts';
import type { Step } from './folds/steps.ts';
import { type StoredStep, storedSteps } from './folds/vote-steps.ts';
import { voteStep } from './vote-step.ts';

const { table } = voteStep;
const OF_REFERENDUM = ['referendum', 'vote'];
/** Stands for the end of an open referendum, in milliseconds. */
const NEVER = 2 ** 52;

/**
 * Referenda whose results may change: those with changed steps, and those that were open when a delegation on their
 * track or a snapshot of delegations changed.
 */
export function changedReferenda(relayChain: string, after: bigint): Sql {
  const newer = sql`FROM ${table} WHERE relay_chain = ${relayChain} AND version > ${after}`;
  const known = sql`SELECT entity AS referendum, countIf(kind != 'end') > 0 AS has_track,
      argMinIf(track, (kind != 'submitted', at, chain, number, place, position), kind != 'end') AS track,
      if(countIf(kind = 'end') = 0, ${NEVER}, toUnixTimestamp64Milli(minIf(at, kind = 'end'))) AS ended
    FROM ${table} FINAL WHERE relay_chain = ${relayChain} AND subject = 'referendum' GROUP BY entity`;
  const changes = sql`SELECT minIf(toUnixTimestamp64Milli(at), subject = 'snapshot') AS listed, countIf(subject = 'snapshot') > 0 AS is_listed,
      minMapIf(map(entity, toUnixTimestamp64Milli(at)), subject = 'delegation') AS delegated
    ${newer} AND subject IN ('delegation', 'snapshot')`;
  return sql`SELECT DISTINCT entity ${newer} AND subject IN ${OF_REFERENDUM}
    UNION DISTINCT
    SELECT referendum FROM (${known}) AS known CROSS JOIN (${changes}) AS changes
    WHERE has_track AND (is_listed AND ended >= listed OR mapContains(delegated, track) AND ended >= delegated[track])`;
}

export const countSteps = (relayChain: string, referenda: readonly EntityId[]): Sql =>
  sql`SELECT entity, count() AS facts FROM ${table}
    WHERE relay_chain = ${relayChain} AND subject IN ${OF_REFERENDUM} AND entity IN ${referenda} GROUP BY entity`;

/**
 * The chains, then the steps of these referenda and of delegations on their tracks, in chain order. Skips accounts that
 * never delegated to a voter of these referenda, because they add to no vote.
 */
export function stepsOfReferenda(window: Window, referenda: readonly EntityId[] = []): Sql {
  const relay_chain = relayOf(window);
  const tracks = sql`SELECT track FROM ${table}
    WHERE relay_chain = ${relay_chain} AND subject = 'referendum' AND entity IN ${referenda} AND kind != 'end'`;
  const voters = sql`SELECT account FROM ${table}
    WHERE relay_chain = ${relay_chain} AND subject = 'vote' AND entity IN ${referenda}`;
  const onTracks = sql`subject = 'delegation' AND entity IN (${tracks})`;
  const delegators = sql`SELECT account FROM ${table}
    WHERE relay_chain = ${relay_chain} AND ${onTracks} AND target IN (${voters})`;
  return sql`SELECT * FROM (
      SELECT 'chain' AS kind, chain, data, toInt64(-1) AS at, 0 AS after_blocks, 0 AS number, 0 AS place, 0 AS position,
        0 AS entity, '' AS account, '' AS target, 0 AS track, 0 AS conviction, '' AS balance, false AS is_aye,
        '' AS aye, '' AS nay, '' AS abstain
      FROM ${chainsOf(relay_chain)}
      UNION ALL
      SELECT kind, chain, [], toUnixTimestamp64Milli(steps.at), after_blocks, number, place, position,
        entity, account, target, track, conviction, toString(steps.balance), is_aye,
        toString(steps.aye), toString(steps.nay), toString(steps.abstain)
      FROM ${table} AS steps FINAL
      WHERE relay_chain = ${relay_chain} AND (
        (subject IN ${OF_REFERENDUM} AND entity IN ${referenda})
        OR (${onTracks} AND account IN (${delegators})) OR subject = 'snapshot'))
    ORDER BY at, after_blocks, chain, number, place, position`;
}

/** Reads the rows of `stepsOfReferenda`. */
export function readSteps(
  relayChain: string,
  rows: readonly (Fact | StoredStep)[],
): [chains: Chains, steps: Step[]] {
  const isOfChain = (row: Fact | StoredStep): row is Fact => row.kind === 'chain';
  const chains = new Chains(relayChain, rows.filter(isOfChain));
  return [chains, storedSteps(rows.filter((row): row is StoredStep => !isOfChain(row)))];
}
