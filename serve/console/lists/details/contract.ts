import type { FastifyReply } from 'fastify';
import { html } from '../../../pages/html.ts';
import { nameOfChain, state } from '../cells.ts';
import { contractList, contracts, contractsWithCode, contractTransactions } from '../contracts.ts';
import type { ListVisit } from '../frame.ts';
import { plainText } from '../plain-text.ts';
import { facts } from '../table-parts.ts';
import { notFound, related, rowOf, sendDetail } from './detail.ts';

/** Sends the page of a contract: its deployment, code and transactions. */
export async function sendContract(
  visit: ListVisit,
  { chain, address }: { readonly chain: string; readonly address: string },
): Promise<FastifyReply> {
  const { registry } = visit;
  if (!/^0x[0-9a-f]{40}$/.test(address) || registry.find(chain)?.name !== chain) throw notFound();
  const scope = { chain };
  const [deployed, coded] = await Promise.all([
    rowOf(visit, contractList, { values: { addresses: [address] }, scope }),
    rowOf(visit, contractsWithCode, { values: { contract_address: address }, scope }),
  ]);
  if (deployed === null && coded === null)
    throw notFound(`No contract of ${chain} with this address is stored.`);
  return sendDetail(visit, {
    section: contracts,
    list: contractList,
    title: 'Contract',
    description: `Deployment, code and transactions of the contract ${address} of ${chain}.`,
    states: deployed && state(String(deployed.deploy_method)),
    body: html`<p class="lead"><code class="whole">${plainText(address)}</code> on ${nameOfChain(chain, registry)}</p>
<div class="pair"><section class="card"><h2>Deployment</h2>${
      deployed
        ? facts({ source: contractList.source, registry, columns: DEPLOYED }, deployed)
        : html`<p class="hint">The block that created it is not stored.</p>`
    }</section>
<section class="card"><h2>Code</h2>${
      coded
        ? facts({ source: contractsWithCode.source, registry, columns: CODED }, coded)
        : html`<p class="hint">The newest snapshot of this chain does not list it.</p>`
    }</section></div>
${await related(visit, {
  title: 'Transactions',
  page: contractTransactions,
  wanted: { values: { addresses: [address] }, scope },
  without: ['chain'],
  empty: 'No transaction of this contract is stored.',
  all: `${contractTransactions.path}?addresses=${address}`,
})}`,
  });
}

const DEPLOYED = [
  { column: 'block_timestamp' },
  { column: 'deployer_account', as: 'account' },
  { column: 'deployer', as: 'hash' },
  { column: 'code_hash', as: 'hash' },
  { column: 'value' },
  { column: 'block_number' },
  { column: 'extrinsic_id' },
  { column: 'extrinsic_hash', as: 'hash' },
] as const;

const CODED = [
  { column: 'code_hash', as: 'hash' },
  { column: 'owner', as: 'account' },
  { column: 'code_type', as: 'state' },
  { column: 'code_len' },
  { column: 'storage_bytes' },
  { column: 'storage_items' },
  { column: 'snapshot_at' },
] as const;
