import { z } from 'zod';
import { amount, count } from './shapes.ts';
import type { BlockState } from './state.ts';
import { MissingItem } from './storage.ts';

const hex = z.string();
const code = z.object({
  owner: z.string(),
  deposit: amount.transform(String),
  refcount: count,
  codeLen: count,
  /** Runtimes without this field support PolkaVM code only. */
  codeType: z.string().default('Pvm'),
  behaviourVersion: count,
});
const contract = z.object({ codeHash: hex, storageBytes: count, storageItems: count });
/** An account without code has no contract record. */
const account = z.object({
  accountType: z.union([z.object({ contract }), z.unknown().transform(() => null)]),
});

/** Codes and contracts of pallet Revive. */
export async function contractCode(state: BlockState): Promise<object> {
  const codes: object[] = [];
  for await (const page of state.entries('Revive', 'CodeInfoOf')) {
    for (const { parts, value } of page) {
      const { owner, deposit, refcount, codeLen, codeType, behaviourVersion } = code.parse(value);
      codes.push({
        code_hash: hex.parse(parts[0]),
        owner,
        code_type: codeType.toUpperCase(),
        code_len: codeLen,
        deposit,
        refcount,
        behaviour_version: behaviourVersion,
      });
    }
  }
  const contracts: object[] = [];
  for await (const [address, found] of contractsOf(state)) {
    contracts.push({
      contract_address: address,
      code_hash: found.codeHash,
      storage_bytes: found.storageBytes,
      storage_items: found.storageItems,
    });
  }
  return { code: codes, contracts };
}

/** Older runtimes have a map of contracts; newer ones have contracts among the accounts. */
async function* contractsOf(state: BlockState): AsyncGenerator<[string, z.output<typeof contract>]> {
  const isNewer = state.has('Revive', 'AccountInfoOf');
  if (!isNewer && !state.has('Revive', 'ContractInfoOf'))
    throw new MissingItem('the runtime has neither Revive.AccountInfoOf nor Revive.ContractInfoOf');
  for await (const page of state.entries('Revive', isNewer ? 'AccountInfoOf' : 'ContractInfoOf')) {
    for (const { parts, value } of page) {
      const found = isNewer ? account.parse(value).accountType?.contract : contract.parse(value);
      if (found) yield [hex.parse(parts[0]), found];
    }
  }
}
