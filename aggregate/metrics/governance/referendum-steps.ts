import { type Sql, sql } from '../../../infra/clickhouse/sql.ts';
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

/**
 * Referenda whose votes may count otherwise: those with changed steps, and those that were open on a track when a
 * delegation on it changed, or at a changed snapshot of all delegations.
 */
export function changedReferenda(relayChain: string, after: bigint): Sql {
  const changed = sql`SELECT subject, entity, at FROM ${table} WHERE relay_chain = ${relayChain} AND version > ${after}`;
  const since = (subject: string) => sql`SELECT entity, min(at) AS since FROM (${changed})
    WHERE subject = ${subject} GROUP BY entity`;
  const referenda = sql`(SELECT entity AS referendum, argMinIf(track, (kind != 'submitted', at, chain, number, place, position), kind != 'end') AS track,
      minOrNull(if(kind = 'end', at, NULL)) AS ended, countIf(kind != 'end') AS tracks
    FROM ${table} FINAL WHERE relay_chain = ${relayChain} AND subject = 'referendum' GROUP BY entity)`;
  const touched = sql`
    SELECT entity FROM (${changed}) WHERE subject IN ${OF_REFERENDUM}
    UNION DISTINCT
    SELECT referendum FROM ${referenda} AS known INNER JOIN (${since('delegation')}) AS delegated ON known.track = delegated.entity
    WHERE tracks > 0 AND (isNull(ended) OR ended >= since)
    UNION DISTINCT
    SELECT referendum FROM ${referenda} AS known CROSS JOIN (${since('snapshot')}) AS listed
    WHERE tracks > 0 AND (isNull(ended) OR ended >= since)`;
  return sql`SELECT entity, sum(rows) AS facts FROM (
      SELECT entity, 0 AS rows FROM (${touched})
      UNION ALL
      SELECT entity, count() AS rows FROM ${table}
      WHERE relay_chain = ${relayChain} AND subject IN ${OF_REFERENDUM} AND entity IN (${touched}) GROUP BY entity)
    GROUP BY entity ORDER BY entity`;
}

/** The chains, then the steps of these referenda and of all delegations on their tracks, in chain order. */
export function stepsOfReferenda(window: Window, referenda: readonly EntityId[] = []): Sql {
  const relay_chain = relayOf(window);
  const tracks = sql`SELECT track FROM ${table}
    WHERE relay_chain = ${relay_chain} AND subject = 'referendum' AND entity IN ${referenda} AND kind != 'end'`;
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
        OR (subject = 'delegation' AND entity IN (${tracks})) OR subject = 'snapshot'))
    ORDER BY at, after_blocks, chain, number, place, position`;
}

/** What `stepsOfReferenda` selects. */
export function readSteps(
  relayChain: string,
  rows: readonly (Fact | StoredStep)[],
): [chains: Chains, steps: Step[]] {
  const isOfChain = (row: Fact | StoredStep): row is Fact => row.kind === 'chain';
  const chains = new Chains(relayChain, rows.filter(isOfChain));
  return [chains, storedSteps(rows.filter((row): row is StoredStep => !isOfChain(row)))];
}
