import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { contracts } from '../lists/contracts.ts';
import { coretime, revenue } from '../lists/coretime.ts';
import { sendBounty } from '../lists/details/bounty.ts';
import { sendContract } from '../lists/details/contract.ts';
import { sendReferendum } from '../lists/details/referendum.ts';
import { type RegionAddress, sendRegion } from '../lists/details/region.ts';
import { sendSale } from '../lists/details/sale.ts';
import { extrinsics, sendExplorer } from '../lists/explorer/explorer.ts';
import { serveLive } from '../lists/explorer/live.ts';
import type { ListPages, ListVisit } from '../lists/frame.ts';
import { governance } from '../lists/governance.ts';
import { sendRevenue } from '../lists/revenue.ts';
import { sendTable } from '../lists/table-page.ts';

/** Most live pages, of which one caller may have a quarter; further pages are not live. */
const LIVE_LISTENERS_MAX = 200;

/** Serves the list pages and the detail pages of records. */
export function serveLists(pages: FastifyInstance, sources: ListPages): void {
  const visit = async (request: FastifyRequest, reply: FastifyReply): Promise<ListVisit> => ({
    ...sources,
    request,
    reply,
    reader: await sources.readers.open(request, reply),
  });
  for (const section of [governance, coretime, contracts]) {
    for (const page of section.pages) {
      const send =
        page === revenue ? sendRevenue : (listVisit: ListVisit) => sendTable(listVisit, section, page);
      pages.get(page.path, async (request, reply) => send(await visit(request, reply)));
    }
  }
  pages.get(extrinsics.path, async (request, reply) => sendExplorer(await visit(request, reply)));
  serveLive(pages, { ...sources, listenersMax: LIVE_LISTENERS_MAX });
  const detail = <Address>(
    path: string,
    send: (visit: ListVisit, address: Address) => Promise<FastifyReply>,
  ) =>
    pages.get(path, async (request, reply) => send(await visit(request, reply), request.params as Address));
  detail('/governance/referenda/:relay/:index', sendReferendum);
  detail('/governance/bounties/:relay/:id', sendBounty);
  detail('/coretime/sales/:relay/:begin', sendSale);
  detail<RegionAddress>('/coretime/regions/:relay/:begin/:core/:mask', sendRegion);
  detail('/contracts/:chain/:address', sendContract);
}
