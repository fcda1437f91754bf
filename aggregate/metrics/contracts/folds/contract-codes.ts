import { type Sql, sql } from '../../../../infra/sql.ts';
import { decodeAddress, encodeAddress } from '../../../../ingest/chains/address.ts';
import { chains } from '../../../../ingest/raw/tables.ts';
import { newestSnapshot } from '../../shared/snapshot.ts';

/** The newest `contract_code` snapshot of a chain. */
export interface ContractCodeFact {
  readonly relay_chain: string;
  readonly chain: string;
  readonly decimals: number;
  readonly prefix: number;
  readonly as_of: string;
  readonly block_number: number | null;
  readonly payload: string;
}

interface Code {
  readonly code_hash: string;
  readonly owner: string;
  readonly code_type: string;
  readonly code_len: number;
  readonly deposit: string;
  readonly refcount: number;
  readonly behaviour_version: number;
}

interface Contract {
  readonly contract_address: string;
  readonly code_hash: string;
  readonly storage_bytes: number;
  readonly storage_items: number;
}

export const newestCodes = (relayChain: string): Sql =>
  sql`SELECT relay_chain, chain, decimals, prefix, as_of, block_number, payload
    FROM ${newestSnapshot(relayChain, 'contract_code')} AS stated
    INNER JOIN (SELECT chain, decimals, prefix FROM ${chains} FINAL WHERE relay_chain = ${relayChain}) AS registry
      USING (chain)
    ORDER BY chain`;

/** Codes by hash, with the key and the address of the owner. */
export function codesIn({ payload, prefix }: ContractCodeFact) {
  const { code } = JSON.parse(payload) as { code: readonly Code[] };
  return new Map(
    code.map(({ owner, ...rest }) => {
      // The loader refuses snapshots whose owner is not an address.
      const owner_key = decodeAddress(owner)?.key as string;
      return [rest.code_hash, { ...rest, owner_key, owner: encodeAddress(owner_key, prefix) }];
    }),
  );
}

/** The contracts of a snapshot, each address once. */
export function contractsIn({ payload }: ContractCodeFact): readonly Contract[] {
  const { contracts } = JSON.parse(payload) as { contracts: readonly Contract[] };
  return [...new Map(contracts.map((contract) => [contract.contract_address, contract])).values()];
}
