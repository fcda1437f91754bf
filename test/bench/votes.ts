/** One vote among many: what it costs until the metrics of governance have it. `votes.ts --votes 400000` */
import { parseArgs } from 'node:util';
import { chainDay } from '../../aggregate/metrics/activity/chain-day.ts';
import { chainHour } from '../../aggregate/metrics/activity/chain-hour.ts';
import { metrics } from '../../aggregate/metrics/index.ts';
import { DAY_MS } from '../../infra/days.ts';
import type { Store } from '../../infra/ports.ts';
import { raw, sql } from '../../infra/sql.ts';
import { blocks, calls, dirtyDays, events } from '../../ingest/raw/tables.ts';
import { standard, vote, Writer } from '../aggregate/metrics/governance/story.ts';
import { openAggregating } from '../support/aggregating.ts';
import { ingestLines } from '../support/pipeline.ts';
import { type Figure, mergesEnd, report } from './measure.ts';

const { values } = parseArgs({ options: { votes: { type: 'string', default: '400000' } } });
const VOTES = Number(values.votes);
const VOTES_PER_BLOCK = 4;
const VOTES_PER_REFERENDUM = 270;
/** So many referenda are open at a time. */
const OPEN = 8;
const TRACKS = 16;
const BLOCKS = Math.ceil(VOTES / VOTES_PER_BLOCK);
const DAYS = 3 * 365;
const STEP_MS = Math.floor((DAYS * DAY_MS) / BLOCKS);
/** The votes that follow are of this day. */
const FROM = new Date(Date.now() - DAYS * DAY_MS).toISOString().slice(0, 10);
const GOAL_SECONDS = 0.5;

const block = raw(`'polkadot' AS relay_chain, 'polkadot' AS chain, n AS number,
  toDateTime64('${FROM}', 3, 'UTC') + toIntervalMillisecond(toInt64(n) * ${STEP_MS}) AS time, toUInt128(n + 1) AS rank`);

async function fill(store: Store): Promise<void> {
  await store.run(sql`INSERT INTO ${blocks}
      (relay_chain, chain, number, time, rank, hash, parent_hash, author, finalized, extrinsics, events, source, received_at)
    SELECT ${block}, toString(n), toString(n), '', 1, 6, 1, 'bench', time FROM (SELECT number AS n FROM numbers(${BLOCKS}))`);
  // Every twentieth account delegates instead.
  await store.run(sql`INSERT INTO ${calls}
      (relay_chain, chain, number, time, rank, extrinsic_index, position, path, pallet, call, actor, args)
    SELECT ${block}, 2 + i % ${VOTES_PER_BLOCK}, 0, '', 'convictionVoting', if(i % 20 = 0, 'delegate', 'vote'),
      unhex(hex(SHA256(toString(i % 20011)))),
      if(i % 20 = 0,
        concat('{"class":"', toString(i % ${TRACKS}), '","to":{"id":"0x', repeat(leftPad(toString(i % 97), 2, '0'), 32),
          '"},"conviction":"Locked1x","balance":"10000000000"}'),
        concat('{"poll_index":"', toString(intDiv(i, ${VOTES_PER_REFERENDUM})),
          '","vote":{"Standard":{"vote":"0x81","balance":"10000000000"}}}'))
    FROM (SELECT number AS i, intDiv(number, ${VOTES_PER_BLOCK}) AS n FROM numbers(${VOTES}))`);
  await store.run(sql`INSERT INTO ${events}
      (relay_chain, chain, number, time, rank, event_index, phase, extrinsic_index, pallet, event, data)
    SELECT ${block}, 0, 'initialization', NULL, 'referenda', event, data
    FROM (
      SELECT arrayJoin([0, ${OPEN}]) AS after, if(after = 0, 'Submitted', 'Confirmed') AS event,
        intDiv((number + after) * ${VOTES_PER_REFERENDUM}, ${VOTES_PER_BLOCK}) AS n,
        if(after = 0, [toString(number), toString(number % ${TRACKS}), '{"inline":"0x0000"}'],
          [toString(number), '{"ayes":"1","nays":"0","support":"1"}']) AS data
      FROM numbers(${Math.floor(VOTES / VOTES_PER_REFERENDUM)}))
    WHERE n < ${BLOCKS}`);
  await store.run(sql`INSERT INTO ${dirtyDays} (stream, pallet, relay_chain, chain, day, sequence)
    SELECT DISTINCT 'blocks', pallet, 'polkadot', 'polkadot', toDate(assumeNotNull(time)), 1
    FROM ${blocks} ARRAY JOIN ['', 'referenda', 'convictionVoting'] AS pallet`);
}

/** Runs work, with the processor time, the heap and the inserted bytes that it took. */
async function measured(store: Store, work: () => Promise<unknown>) {
  const insertLines = store.insertLines.bind(store);
  let bytes = 0;
  let statements = 0;
  store.insertLines = (table, columns, lines) => {
    bytes += lines.length;
    return insertLines(table, columns, lines);
  };
  const rows = store.rows.bind(store);
  store.rows = (...of) => {
    statements++;
    return rows(...of);
  };
  const heap = () => process.memoryUsage().heapUsed + process.memoryUsage().external;
  const before = heap();
  let peak = before;
  const sampler = setInterval(() => {
    peak = Math.max(peak, heap());
  }, 2);
  const cpu = process.cpuUsage();
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  clearInterval(sampler);
  store.insertLines = insertLines;
  store.rows = rows;
  const megabytes = (count: number) => `${(count / 1e6).toFixed(1)} MB`;
  const processor = (user + system) / 1e6;
  return {
    processor,
    text: [
      `${processor.toFixed(2)} s processor`,
      `${seconds.toFixed(2)} s wall`,
      `${megabytes(peak - before)} more heap`,
      `${megabytes(process.memoryUsage.rss())} resident`,
      `${megabytes(bytes)} inserted`,
      `${statements} queries`,
    ].join(', '),
  };
}

const governance = metrics.filter(
  (metric) =>
    metric.materialized !== false && /^(vote|gov_voter|referendum_month|monthly_gov)/.test(metric.name),
);
const opened = await openAggregating([chainHour, chainDay, ...governance] as never);
const { pipeline, aggregator } = opened;
const { store } = pipeline.runtime;
await fill(store);
const figures: Figure[] = [];
const all = await measured(store, () => aggregator.waitUntilComputed());
figures.push({ work: `${VOTES} votes, computed at once`, peer: '', figure: all.text, goal: '', met: true });
const writer = new Writer('polkadot', BLOCKS);
const open = Math.floor(VOTES / VOTES_PER_REFERENDUM) - 1;
for (let round = 0; round < 4; round++) {
  const time = new Date(Date.parse(FROM) + (BLOCKS + round) * STEP_MS).toISOString();
  writer.extrinsics(time, vote(`0x${'ab'.repeat(32)}`, open, standard(true, 1, String(round + 1))));
  await mergesEnd(store);
  await ingestLines(pipeline, writer.lines.slice(-1));
  const one = await measured(store, () => aggregator.waitUntilComputed());
  const met = one.processor <= GOAL_SECONDS;
  figures.push({
    work: `one vote more, ${round}`,
    peer: '',
    figure: one.text,
    goal: `${GOAL_SECONDS} s`,
    met,
  });
}
report(figures);
await opened.close();
