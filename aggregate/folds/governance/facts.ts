import { raw, type Sql, sql } from '../../../infra/kernel/sql.ts';
import type { Window } from '../../../ingest/streams/living.ts';
import { orderedFacts } from '../facts.ts';
import { REFERENDUM_EVENTS } from './referendum-events.ts';

const ofReferenda = sql`(pallet = 'referenda' AND event IN ${REFERENDUM_EVENTS})`;

/** What referenda went through. */
export const referendaFacts = ({ relay_chain }: Window): Sql =>
  orderedFacts(relay_chain, {
    events: ofReferenda,
    calls: raw("(pallet = 'referenda' AND call = 'submit')"),
    snapshots: ['track_table', 'issuance'],
  });

/** Votes, delegations, and the events that give referenda their track or end them. */
export const votingFacts = ({ relay_chain }: Window): Sql =>
  orderedFacts(relay_chain, {
    events: sql`(${ofReferenda} OR (pallet = 'convictionVoting' AND event = 'Voted'))`,
    calls: raw(
      "(pallet = 'convictionVoting' AND call IN ('vote', 'removeVote', 'removeOtherVote', 'delegate', 'undelegate'))",
    ),
    snapshots: ['delegations'],
  });
