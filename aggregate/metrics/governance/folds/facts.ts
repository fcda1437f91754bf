import { type Sql, sql } from '../../../../infra/sql.ts';
import { ofPallets, relayOf, type Window } from '../../../../ingest/raw/canonical.ts';
import { factsOfWindow, orderedFacts } from '../../shared/facts.ts';
import { REFERENDUM_EVENTS } from './referendum-events.ts';

const ofReferenda = sql`(${ofPallets('referenda')} AND event IN ${REFERENDUM_EVENTS})`;

const ofVoting = ofPallets('convictionVoting');
const VOTING_CALLS = ['vote', 'removeVote', 'removeOtherVote', 'delegate', 'undelegate'];

export const referendaFacts = (window: Window): Sql =>
  orderedFacts(relayOf(window), {
    events: ofReferenda,
    calls: sql`(${ofPallets('referenda')} AND call = 'submit')`,
    snapshots: ['track_table', 'issuance'],
  });

/** Votes, delegations, and the events that set the track of a referendum or end it. */
export const votingFacts = (window: Window): Sql =>
  factsOfWindow(window, {
    events: sql`(${ofReferenda} OR (${ofVoting} AND event = 'Voted'))`,
    calls: sql`(${ofVoting} AND call IN ${VOTING_CALLS})`,
    snapshots: ['delegations'],
  });
