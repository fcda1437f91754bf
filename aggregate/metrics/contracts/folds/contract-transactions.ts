import { amounts } from '../../shared/native-amounts.ts';
import { type ContractCall, valueFields } from './contract-calls.ts';
import type { ContractExtrinsic } from './contract-extrinsics.ts';

/** One row for each contract that an extrinsic called or created, or that emitted an event in it. */
export function contractTransactions(relay_chain: string, extrinsic: ContractExtrinsic) {
  const { calls, created, emitted } = extrinsic;
  const [first] = calls;
  if (first === undefined || extrinsic.extrinsic_index === null) return [];
  const targets = calls.flatMap(({ target }) => target ?? []);
  const contracts = new Set([...targets, ...created.map(({ contract }) => contract), ...emitted.keys()]);
  return [...contracts].map((contract) => {
    const creations = created.filter((one) => one.contract === contract);
    const targeting = calls.filter(({ target }) => target === contract);
    const isNative = targeting.some(({ isEthereum }) => !isEthereum);
    const creates = (call: ContractCall) => creations.some(({ by }) => by === call);
    const call = calls.find((one) => one.target === contract || creates(one)) ?? first;
    return {
      ...transactionRow(relay_chain, extrinsic, call),
      contract_address: contract,
      storage_deposit_limit: call.storage_deposit_limit,
      input_size: call.input_size,
      selector: call.selector,
      num_events: emitted.get(contract) ?? 0,
      is_ethereum: Number(call.isEthereum),
      is_target: Number(targeting.length > 0),
      is_contract: Number(isNative || creations.length > 0 || emitted.has(contract)),
      is_contract_target: Number(isNative),
      ...heatmapCounts(extrinsic, targeting),
    };
  });
}

/** The columns that all rows of an extrinsic share, and those of the call of one row. */
function transactionRow(relay_chain: string, extrinsic: ContractExtrinsic, call: ContractCall) {
  return {
    relay_chain,
    chain: extrinsic.chain,
    block_number: extrinsic.number,
    extrinsic_index: extrinsic.extrinsic_index,
    timestamp: extrinsic.time,
    transaction_hash: extrinsic.hash,
    eth_hash: call.eth_hash,
    from_address: call.from,
    to_address: call.target,
    method: call.method,
    ...valueFields(call.value),
    gas_limit: call.gas_limit,
    gas_price: call.gas_price,
    weight_ref_time: extrinsic.weight_ref_time,
    weight_proof_size: extrinsic.weight_proof_size,
    ...amounts('fee', extrinsic.fee, extrinsic.decimals),
    success: extrinsic.success,
    error: extrinsic.error,
  };
}

/** Calls that the heatmap counts: executed calls, except reverted Ethereum calls. */
function heatmapCounts({ ran, success }: ContractExtrinsic, targeting: readonly ContractCall[]) {
  return {
    native_calls: ran ? targeting.filter(({ method }) => method === 'call').length : 0,
    ethereum_calls: success === true ? targeting.filter(({ isEthereum }) => isEthereum).length : 0,
  };
}
