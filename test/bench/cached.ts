/** A cached answer of 365 rows and its 304, against Fastify that sends a constant buffer of the same size and a bare 304. */
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { buildServer } from '../../serve/application/compose/compose-server.ts';
import { DAYS, openHistory, YEAR } from './history.ts';
import { startLoad } from './load.ts';
import { compare, type Figure, readSizes, report } from './measure.ts';

const GOAL = 0.9;
const MEASURED_MS = 2000;
const PATH = `/api/daily-tps?relay_chain=polkadot&chain=polkadot&start_date=${YEAR.from}&end_date=${YEAR.until}`;

const sizes = readSizes();
const { pipeline, close } = await openHistory(sizes.extrinsics, sizes.history);
// A round beside the load would take its processor, and change the ETag.
await pipeline.aggregator.waitForFailures();
const app = await buildServer(pipeline);
const origin = await app.listen({ port: 0 });
// Encoded as for a load that names no coding: another one has an ETag of its own.
const answer = await fetch(origin + PATH, { headers: { 'accept-encoding': 'identity' } });
const etag = answer.headers.get('etag') ?? '';
const body = Buffer.from(await answer.arrayBuffer());
const rows = (JSON.parse(body.toString('utf8')) as unknown[]).length;
if (rows !== DAYS) throw new Error(`${rows} rows instead of ${DAYS}`);

const constant = Fastify();
constant.get('/', (_request, reply) => reply.type('application/json; charset=utf-8').send(body));
constant.get('/304', (_request, reply) => reply.code(304).send());
await constant.listen({ port: 0 });

const portOf = (server: { address(): AddressInfo | string | null }) => (server.address() as AddressInfo).port;
const load = startLoad();
const figures: Figure[] = [];
for (const { work, peer, path, headers } of [
  {
    work: `cached answer of ${rows} rows, ${(body.length / 1000).toFixed(0)} kB`,
    peer: 'Fastify, constant buffer of that size',
    path: '/',
    headers: {},
  },
  {
    work: '304 to who has that answer',
    peer: 'Fastify, 304 without conditions',
    path: '/304',
    headers: { 'if-none-match': etag },
  },
]) {
  const milliseconds = MEASURED_MS;
  const measured = await compare(
    sizes.rounds,
    () => load.ask({ port: portOf(app.server), paths: [PATH], headers, milliseconds }),
    () => load.ask({ port: portOf(constant.server), paths: [path], headers, milliseconds }),
  );
  figures.push({
    ...{ work, peer, ratio: measured.ratio },
    figure: `${Math.round(measured.product)} against ${Math.round(measured.peer)} a second`,
    goal: `>= ${GOAL}`,
    met: measured.ratio >= GOAL,
  });
}
load.stop();
await constant.close();
await app.close();
await close();
report(figures);
