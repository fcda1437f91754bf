import type { FastifyReply } from 'fastify';
import { sql } from '../../../../infra/sql.ts';
import { type Html, html } from '../../../pages/html.ts';
import { formatExact, formatShort } from '../../model/format.ts';
import { inWords, state } from '../cells.ts';
import type { ListVisit } from '../frame.ts';
import { governance, referenda, votes } from '../governance.ts';
import type { ListRow } from '../list-page.ts';
import { facts, listTable, pagerLinks } from '../table-parts.ts';
import { indexOf, notFound, relayOf, rowOf, sendDetail } from './detail.ts';

/** A referendum: its result, timeline, tally and votes. */
export async function sendReferendum(
  visit: ListVisit,
  address: { readonly relay: string; readonly index: string },
): Promise<FastifyReply> {
  const { registry } = visit;
  const relay = relayOf(address.relay, referenda);
  const number = indexOf(address.index);
  const row = await rowOf(visit, referenda, {
    values: {},
    scope: { relay_chain: relay, condition: sql`referendum_index = ${number}` },
  });
  if (row === null) throw notFound(`Referendum ${number} of ${inWords(relay)} is not stored.`);
  const context = { source: referenda.source, registry };
  const network = inWords(relay);
  return sendDetail(visit, {
    section: governance,
    list: referenda,
    title: `Referendum ${number} of ${network}`,
    description: `${inWords(String(row.outcome))}: result, timeline, tally and votes of referendum ${number} of ${network}.`,
    states: state(String(row.outcome)),
    body: html`<div class="pair"><section class="card"><h2>Tally</h2>${tally(row)}
${facts({ ...context, columns: [{ column: 'ayes' }, { column: 'nays' }, { column: 'support' }, { column: 'turnout_pct' }] }, row)}</section>
<section class="card"><h2>Timeline</h2>${timeline(row)}
${facts({ ...context, columns: FACTS }, row)}</section></div>
${await votesOf(visit, relay, number)}`,
  });
}

const FACTS = [
  { column: 'origin' },
  { column: 'track' },
  { column: 'submitter', as: 'account' },
  { column: 'decision_deposit' },
  { column: 'proposal_hash', as: 'hash' },
  { column: 'chain' },
] as const;

/** Ayes and nays as parts of one bar. */
function tally({ approval, ayes }: ListRow): Html {
  if (typeof approval !== 'number') {
    return html`<p>${ayes === null ? 'No tally is stored yet.' : 'The newest tally has no votes.'}</p>`;
  }
  const aye = Math.max(0, Math.min(100, approval * 100));
  const label = `${formatExact(approval, 'ratio')} aye, ${formatExact(1 - approval, 'ratio')} nay`;
  return html`<svg class="tally" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="${label}">
<rect class="nay" width="100" height="6"/><rect class="aye" width="${aye.toFixed(2)}" height="6"/></svg>
<p class="sides"><b>${formatShort(approval, 'ratio')} aye</b><b>${formatShort(1 - approval, 'ratio')} nay</b></p>`;
}

const STEPS = [
  ['Submitted', 'submitted_block', 'start_date'],
  ['Decision started', 'deciding_block', null],
  ['Confirmation started', 'confirm_block', null],
] as const;

function timeline(row: ListRow): Html {
  const ended =
    row.end_block === null ? [] : [[inWords(String(row.outcome)), 'end_block', 'end_date'] as const];
  const steps = [...STEPS, ...ended].filter(([, block]) => row[block] !== null);
  if (steps.length === 0) return html`<p class="hint">The submission of this referendum is not stored.</p>`;
  return html`<ol class="history">${steps.map(
    ([name, block, day]) =>
      html`<li><b>${name}</b><span>${day !== null && row[day] !== null && html`<time datetime="${String(row[day])}">${String(row[day])}</time>, `}block ${formatExact(Number(row[block]), 'height')}</span></li>`,
  )}</ol>`;
}

async function votesOf(visit: ListVisit, relay: string, index: number): Promise<Html> {
  const { listReader, reader, registry, request } = visit;
  const { cursor } = request.query as { readonly cursor?: unknown };
  const wanted = {
    values: { referendum_index: String(index) },
    scope: { relay_chain: relay },
    order: votes.order,
    cursor: typeof cursor === 'string' ? cursor : undefined,
  };
  const { rows, next } = await listReader.read(votes.source, wanted, reader);
  const columns = votes.columns.filter(({ column }) => !['referendum_index', 'relay_chain'].includes(column));
  const path = `/governance/referenda/${relay}/${index}`;
  return html`<section class="part" id="votes"><h2>Votes</h2>
<p>${votes.lead} <a href="${votes.path}?referendum_index=${index}">Search and download them</a></p>
${listTable({ source: votes.source, columns, rows, registry, caption: 'Votes', empty: 'Nobody has voted yet, or the blocks with the votes are not stored.' })}
${pagerLinks({ isFirst: wanted.cursor === undefined, first: `${path}#votes`, next: next && `${path}?${new URLSearchParams({ cursor: next })}#votes` })}</section>`;
}
