/**
 * What the check of an API key costs on a cached answer: the same request with the key, and with the same bytes in a
 * header that nobody looks at. Processor time of the server, since the check is small beside what else a machine does.
 */
import type { AddressInfo } from 'node:net';
import { aKey, aUser, openWorld } from '../serve/accounts/world.ts';
import { startLoad } from './load.ts';
import { compare, readSizes, report } from './measure.ts';

const GOAL = 1.05;
const MEASURED_MS = 2000;
const PATH = '/api/daily-tps?relay_chain=polkadot&chain=polkadot';

const sizes = readSizes();
const world = await openWorld();
await world.app.listen({ host: '127.0.0.1', port: 0 });
const { port } = world.app.server.address() as AddressInfo;
const { text } = await aKey(world, await aUser(world));
const load = startLoad();
const asked = { port, paths: [PATH], milliseconds: MEASURED_MS };
/** Processor time of this process for one answer, in microseconds. */
async function costOf(headers: Record<string, string>): Promise<number> {
  const before = process.cpuUsage();
  const rate = await load.ask({ ...asked, headers });
  const { user, system } = process.cpuUsage(before);
  return (user + system) / ((rate * MEASURED_MS) / 1000);
}
const key = `Bearer ${text}`;
const { product, peer, ratio } = await compare(
  sizes.rounds,
  () => costOf({ authorization: key }),
  () => costOf({ 'x-not-checked': key }),
);
load.stop();
await world.close();
report([
  {
    work: 'cached answer to a caller with an API key',
    peer: 'the same bytes in another header',
    figure: `${product.toFixed(1)} against ${peer.toFixed(1)} µs of processor time`,
    ratio,
    goal: `<= ${GOAL}`,
    met: ratio <= GOAL,
  },
]);
process.exit();
