import type { AccountKey } from '../accounts.ts';
import { parseAccount } from '../accounts.ts';
import { isoOf } from '../calendar.ts';
import { isNamed } from '../calls.ts';
import {
  type ContractCall,
  contractCallsOf,
  contractSuccess,
  deploymentsIn,
  knownContracts,
  proofSizeOf,
  refTimeOf,
} from '../contracts.ts';
import type { Extrinsic } from '../facts.ts';
import type { Input } from '../input.ts';
import { isObject } from '../json.ts';
import { amountFields } from '../money.ts';
import { compareKeys, type TimedBlock, timedBlocks } from '../rows.ts';

export type ContractTransaction = {
  relay_chain: string;
  chain: string;
  transaction_hash: string | null;
  eth_hash: string | null;
  block_number: number;
  extrinsic_index: number;
  timestamp: string;
  contract_address: string;
  from_address: string | null;
  to_address: string | null;
  method: string;
  value: number | null;
  value_planck: string | null;
  /** Exact, also where a double is not. */
  gas_limit: bigint | null;
  gas_price: bigint | null;
  weight_ref_time: number | null;
  weight_proof_size: number | null;
  fee: number | null;
  fee_planck: string | null;
  success: boolean | null;
};

export type ContractCallDetail = ContractTransaction & {
  gas_used: number | null;
  storage_deposit_limit: string | null;
  input_size: number | null;
  selector: string | null;
  num_events: number;
};

export function contractTransactions(input: Input): ContractTransaction[] {
  return touchesOf(input).map((touch) => rowOf(touch));
}

/** Only what was called: not what was made, nor what only emitted. */
export function contractCallDetails(input: Input): ContractCallDetail[] {
  return touchesOf(input)
    .filter(({ isTarget }) => isTarget)
    .map((touch) => {
      const { contract, extrinsic, call } = touch;
      const row = rowOf(touch);
      const digits = call.input?.slice(2) ?? null;
      return {
        ...row,
        gas_used: call.isEthereum ? null : row.weight_ref_time,
        storage_deposit_limit: call.storageDepositLimit?.toString() ?? null,
        input_size: digits === null ? null : digits.length / 2,
        selector: digits === null || digits.length < 8 ? null : `0x${digits.slice(0, 8)}`,
        num_events: emittersOf(extrinsic).filter((emitter) => emitter === contract).length,
      };
    });
}

/** An extrinsic and a contract that it had to do with. */
type DirtyDay = {
  readonly block: TimedBlock;
  readonly extrinsic: Extrinsic;
  readonly contract: AccountKey;
  readonly call: ContractCall;
  readonly isTarget: boolean;
};

function touchesOf(input: Input): readonly DirtyDay[] {
  return timedBlocks(input.blocks)
    .filter(({ chain }) => ['polkadot', 'kusama', 'solo'].includes(chain.relay))
    .flatMap((block) => {
      const known = knownContracts(input, block.chain.name);
      return block.extrinsics.flatMap((extrinsic) => touchesIn(block, extrinsic, known));
    })
    .toSorted((a, b) => compareKeys(placeOf(a), placeOf(b)));
}

const placeOf = ({ block, extrinsic, contract }: DirtyDay) => [-block.height, -extrinsic.index, contract];

const emittersOf = ({ events }: Extrinsic) =>
  events
    .filter((event) => isNamed(event, 'revive', 'ContractEmitted'))
    .map(({ data }) => parseAccount(data[0]) ?? '');

function touchesIn(
  block: TimedBlock,
  extrinsic: Extrinsic,
  known: ReadonlySet<AccountKey>,
): readonly DirtyDay[] {
  const calls = contractCallsOf(block, extrinsic);
  const [firstCall] = calls;
  if (!firstCall) return [];
  const deployments = deploymentsIn(block, extrinsic);
  const targets = calls.flatMap(({ to, method }) =>
    to !== null && (method === 'call' || known.has(to)) ? [to] : [],
  );
  const dirtyDays = new Set([
    ...targets,
    ...deployments.map(({ contract }) => contract),
    ...emittersOf(extrinsic),
  ]);
  return [...dirtyDays].map((contract) => {
    const creating = deployments.find((deployment) => deployment.contract === contract)?.call;
    const call = calls.find((one) => one.to === contract || isSameCall(one, creating)) ?? firstCall;
    return { block, extrinsic, contract, call, isTarget: targets.includes(contract) };
  });
}

const isSameCall = (one: ContractCall, other: ContractCall | null | undefined) =>
  other != null && one.to === null && JSON.stringify(one, digits) === JSON.stringify(other, digits);

const digits = (_key: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);

function rowOf({ block, extrinsic, contract, call }: DirtyDay): ContractTransaction {
  const { chain, height, time } = block;
  const info = extrinsic.outcome?.data.at(-1);
  const weight = isObject(info) ? info.weight : undefined;
  return {
    relay_chain: chain.relay,
    chain: chain.name,
    transaction_hash: extrinsic.hash,
    eth_hash: call.hash,
    block_number: height,
    extrinsic_index: extrinsic.index,
    timestamp: isoOf(time),
    contract_address: contract,
    from_address: call.from,
    to_address: call.to,
    method: call.method,
    value: call.value,
    value_planck: call.value_planck,
    gas_limit: call.gasLimit,
    gas_price: call.gasPrice,
    weight_ref_time: numberOf(refTimeOf(weight)),
    weight_proof_size: numberOf(proofSizeOf(weight)),
    ...amountFields('fee', extrinsic.fee, chain),
    success: contractSuccess(block, extrinsic),
  };
}

const numberOf = (value: bigint | null) => (value === null ? null : Number(value));
