import { printAccount } from '../accounts.ts';
import { isoOf } from '../calendar.ts';
import type { Input, Snapshot } from '../input.ts';
import { amountFields } from '../money.ts';
import { chainNamed } from '../registry.ts';
import { compareKeys } from '../rows.ts';
import { Payload, snapshotsOf } from '../snapshots.ts';

export type CodeInfo = {
  relay_chain: string;
  chain: string;
  code_hash: string;
  owner: string;
  code_type: string;
  code_len: number;
  deposit: number | null;
  deposit_planck: string | null;
  refcount: number;
  behaviour_version: number;
  snapshot_block: number;
  snapshot_at: string;
};

export type ContractWithCodeInfo = {
  relay_chain: string;
  chain: string;
  contract_address: string;
  code_hash: string;
  owner: string | null;
  code_type: string | null;
  code_len: number | null;
  storage_bytes: number;
  storage_items: number;
  snapshot_block: number;
  snapshot_at: string;
};

export function codeInfos(input: Input): CodeInfo[] {
  return latest(input, ['polkadot', 'kusama', 'solo']).flatMap(({ row, chain, payload, snapshot }) =>
    payload
      .items('code')
      .map((code) => ({
        ...row,
        ...codeOf(code, chain.name),
        ...amountFields('deposit', code.amount('deposit'), chain),
        refcount: code.index('refcount'),
        behaviour_version: code.index('behaviour_version'),
        ...takenAt(snapshot),
      }))
      .toSorted((a, b) => compareKeys([a.code_hash], [b.code_hash])),
  );
}

export function contractsWithCode(input: Input): ContractWithCodeInfo[] {
  return latest(input, ['polkadot', 'kusama', 'solo', 'westend']).flatMap(
    ({ row, chain, payload, snapshot }) => {
      const codes = payload.items('code').map((code) => codeOf(code, chain.name));
      return payload
        .items('contracts')
        .map((contract) => {
          const code_hash = contract.text('code_hash').toLowerCase();
          const code = codes.find((one) => one.code_hash === code_hash);
          return {
            ...row,
            contract_address: contract.text('contract_address').toLowerCase(),
            code_hash,
            owner: code?.owner ?? null,
            code_type: code?.code_type ?? null,
            code_len: code?.code_len ?? null,
            storage_bytes: contract.index('storage_bytes'),
            storage_items: contract.index('storage_items'),
            ...takenAt(snapshot),
          };
        })
        .toSorted((a, b) => compareKeys([a.contract_address], [b.contract_address]));
    },
  );
}

/** The newest snapshot of each chain. */
function latest(input: Input, relays: readonly string[]) {
  const byChain = new Map(snapshotsOf(input, 'contract_code').map((snapshot) => [snapshot.chain, snapshot]));
  return [...byChain.values()]
    .filter(({ relay_chain }) => relays.includes(relay_chain))
    .toSorted((a, b) => compareKeys([a.relay_chain, a.chain], [b.relay_chain, b.chain]))
    .map((snapshot) => ({
      row: { relay_chain: snapshot.relay_chain, chain: snapshot.chain },
      chain: chainNamed(snapshot.chain),
      payload: new Payload(snapshot.payload),
      snapshot,
    }));
}

const takenAt = ({ blockNumber, asOf }: Snapshot) => ({
  snapshot_block: blockNumber,
  snapshot_at: isoOf(asOf),
});

function codeOf(code: Payload, chain: string) {
  return {
    code_hash: code.text('code_hash').toLowerCase(),
    owner: printAccount(code.account('owner'), chainNamed(chain)),
    code_type: code.text('code_type'),
    code_len: code.index('code_len'),
  };
}
