/** A cached answer of 365 rows, against Fastify that sends a constant buffer of the same size. */
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { buildServer } from '../../serve/compose-server.ts';
import { DAYS, openHistory, YEAR } from './history.ts';
import { startLoad } from './load.ts';
import { compare, readSizes, report } from './measure.ts';

const GOAL = 0.8;
const MEASURED_MS = 2000;
const PATH = `/api/daily-tps?relay_chain=polkadot&chain=polkadot&start_date=${YEAR.from}&end_date=${YEAR.until}`;

const sizes = readSizes();
const { pipeline, close } = await openHistory(sizes.extrinsics, sizes.history);
const app = await buildServer(pipeline);
const origin = await app.listen({ port: 0 });
const body = Buffer.from(await (await fetch(origin + PATH)).arrayBuffer());
const rows = (JSON.parse(body.toString('utf8')) as unknown[]).length;
if (rows !== DAYS) throw new Error(`${rows} rows instead of ${DAYS}`);

const constant = Fastify();
constant.get('/', (_request, reply) => reply.type('application/json; charset=utf-8').send(body));
await constant.listen({ port: 0 });

const portOf = (server: { address(): AddressInfo | string | null }) => (server.address() as AddressInfo).port;
const load = startLoad();
const { product, peer, ratio } = await compare(
  sizes.rounds,
  () => load.ask({ port: portOf(app.server), paths: [PATH], milliseconds: MEASURED_MS }),
  () => load.ask({ port: portOf(constant.server), paths: ['/'], milliseconds: MEASURED_MS }),
);
load.stop();
await constant.close();
await app.close();
await close();
report([
  {
    work: `cached answer of ${rows} rows, ${(body.length / 1000).toFixed(0)} kB`,
    peer: 'Fastify, constant buffer of that size',
    figure: `${Math.round(product)} against ${Math.round(peer)} a second`,
    ratio,
    goal: `>= ${GOAL}`,
    met: ratio >= GOAL,
  },
]);
