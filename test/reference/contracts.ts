import { keccak_256 } from '@noble/hashes/sha3.js';
import { type AccountKey, parseAccount, printAccount } from './accounts.ts';
import { isNamed, type PlacedEvent } from './calls.ts';
import { h160Of, paddedAccount } from './derived.ts';
import type { ExecutedCall } from './executed.ts';
import type { Block, Extrinsic } from './facts.ts';
import type { Input } from './input.ts';
import { isObject, type Json } from './json.ts';
import { parseAmount, parseInteger, quotient } from './numbers.ts';
import { type TimedBlock, timedBlocks } from './rows.ts';
import { Payload, snapshotsOf } from './snapshots.ts';

/** A call into contracts: of one, or one that creates one. */
export type ContractCall = {
  readonly method: string;
  readonly isEthereum: boolean;
  /** On whose behalf, and the address which that account has towards contracts. */
  readonly actor: AccountKey | null;
  readonly from: AccountKey | null;
  /** Null for a call that creates. */
  readonly to: AccountKey | null;
  readonly codeHash: string | null;
  /** In whole tokens. */
  readonly value: number | null;
  readonly value_planck: string | null;
  readonly gasLimit: bigint | null;
  readonly gasPrice: bigint | null;
  readonly storageDepositLimit: bigint | null;
  readonly input: string | null;
  /** Of the Ethereum transaction behind it. */
  readonly hash: string | null;
};

/** A contract that came to be, and the call that made it unless another contract did. */
export type Deployment = {
  readonly block: TimedBlock;
  readonly event: PlacedEvent;
  readonly extrinsic: Extrinsic | null;
  readonly contract: AccountKey;
  readonly deployer: AccountKey;
  readonly call: ContractCall | null;
};

const WEI_OF_TOKEN = 10n ** 18n;
const METHODS = [
  'call',
  'instantiate',
  'instantiateWithCode',
  'ethTransact',
  'ethCall',
  'ethInstantiateWithCode',
];
const CREATING = ['instantiate', 'instantiateWithCode', 'ethInstantiateWithCode'];

/** The contract calls of an extrinsic that ran; of one that failed the call that it was, if it was one. */
export function contractCallsOf(block: Block, extrinsic: Extrinsic): readonly ContractCall[] {
  const actor = extrinsic.signer ?? extrinsic.evmSender;
  const failed: ExecutedCall = { ...extrinsic.call, actor, isActorKnown: actor !== null };
  const calls = extrinsic.executed.length > 0 ? extrinsic.executed : [failed];
  return calls
    .filter((call) => isNamed(call, 'revive', ...METHODS))
    .map((call) => readContractCall(block, extrinsic, call));
}

/** What Ethereum's machine takes back leaves its extrinsic a success for all others. */
export function contractSuccess(block: Block, extrinsic: Extrinsic): boolean | null {
  const isReverted =
    contractCallsOf(block, extrinsic).some(({ isEthereum }) => isEthereum) &&
    extrinsic.events.some((event) => isNamed(event, 'revive', 'EthExtrinsicRevert'));
  return isReverted && extrinsic.success !== null ? false : extrinsic.success;
}

function readContractCall(block: Block, { ethereum }: Extrinsic, call: ExecutedCall): ContractCall {
  const { method, actor, args } = call;
  const from = actor && h160Of(actor);
  if (method === 'ethTransact') {
    return {
      method,
      isEthereum: true,
      actor: from && paddedAccount(from),
      from,
      to: ethereum?.receiver ?? null,
      codeHash: null,
      ...valueFields(ethereum?.value ?? null, WEI_OF_TOKEN, block.chain.decimals),
      gasLimit: upToLargestGas(ethereum?.gasLimit ?? null),
      gasPrice: upToLargestGas(ethereum?.gasPrice ?? null),
      storageDepositLimit: null,
      input: ethereum?.input ?? null,
      hash: hashOfPayload(args.payload),
    };
  }
  const isEthereum = method.startsWith('eth');
  const value = parseAmount(args.value);
  const unit = isEthereum ? WEI_OF_TOKEN : 10n ** BigInt(block.chain.decimals);
  return {
    method,
    isEthereum,
    actor,
    from,
    to: CREATING.includes(method) ? null : parseAccount(args.dest),
    codeHash:
      method === 'instantiate' && typeof args.code_hash === 'string' ? args.code_hash.toLowerCase() : null,
    ...valueFields(value, unit, block.chain.decimals),
    gasLimit: parseGas(refTimeIn(args.weight_limit ?? args.gas_limit)),
    gasPrice: isEthereum ? parseGas(args.effective_gas_price) : null,
    storageDepositLimit: parseAmount(args.storage_deposit_limit),
    input: typeof args.data === 'string' ? args.data : null,
    hash: isEthereum ? hashOfPayload(args.transaction_encoded) : null,
  };
}

/** In whole tokens, and in planck as far as those are whole. */
function valueFields(value: bigint | null, unit: bigint, decimals: number) {
  if (value === null) return { value: null, value_planck: null };
  return {
    value: quotient(value, unit),
    value_planck: String((value * 10n ** BigInt(decimals)) / unit),
  };
}

function hashOfPayload(payload: Json | undefined): string | null {
  if (typeof payload !== 'string' || !/^0x([0-9a-f]{2})+$/i.test(payload)) return null;
  return `0x${Buffer.from(keccak_256(Buffer.from(payload.slice(2), 'hex'))).toString('hex')}`;
}

/** Weights had one part before they had two. */
export function refTimeOf(weight: Json | undefined): bigint | null {
  return parseAmount(refTimeIn(weight));
}

const refTimeIn = (weight: Json | undefined) =>
  isObject(weight) ? (weight.refTime ?? weight.ref_time) : weight;

export function proofSizeOf(weight: Json | undefined): bigint | null {
  return isObject(weight) ? parseAmount(weight.proofSize ?? weight.proof_size) : null;
}

const LARGEST_GAS = 2n ** 256n - 1n;
const upToLargestGas = (gas: bigint | null) => (gas !== null && gas <= LARGEST_GAS ? gas : null);
const parseGas = (value: Json | undefined) => upToLargestGas(parseInteger(value));

/** Every contract that came to be on any chain, by chain, height and place. */
export function deploymentsOf(input: Input): readonly Deployment[] {
  return timedBlocks(input.blocks).flatMap((block) => {
    const outside = instantiated(block.events).filter(({ extrinsic }) => extrinsic === null);
    return [
      ...outside.map((event) => deployment(block, event, null, null)),
      ...block.extrinsics.flatMap((extrinsic) => deploymentsIn(block, extrinsic)),
    ];
  });
}

const instantiated = (events: readonly PlacedEvent[]) =>
  events.filter((event) => isNamed(event, 'revive', 'Instantiated'));

/** Each creation by a call is told in order; between them stand those that contracts made. */
export function deploymentsIn(block: TimedBlock, extrinsic: Extrinsic): readonly Deployment[] {
  const calls = contractCallsOf(block, extrinsic).filter(
    ({ to, method }) => to === null && method !== 'call',
  );
  let next = 0;
  return instantiated(extrinsic.events).map((event) => {
    const call = calls[next] ?? null;
    const isDeployer = call !== null && call.from === parseAccount(event.data[0]);
    if (isDeployer) next += 1;
    return deployment(block, event, extrinsic, isDeployer ? call : null);
  });
}

function deployment(
  block: TimedBlock,
  event: PlacedEvent,
  extrinsic: Extrinsic | null,
  call: ContractCall | null,
): Deployment {
  const [deployer = '', contract = ''] = event.data.map((part) => parseAccount(part) ?? '');
  return { block, event, extrinsic, contract, deployer, call };
}

/** The contracts of a chain: those that a block made and those that a snapshot lists. */
export function knownContracts(input: Input, chain: string): ReadonlySet<AccountKey> {
  const made = timedBlocks(input.blocks)
    .filter((block) => block.chain.name === chain)
    .flatMap(({ events }) => instantiated(events))
    .map(({ data }) => parseAccount(data[1]) ?? '');
  const listed = snapshotsOf(input, 'contract_code')
    .filter((snapshot) => snapshot.chain === chain)
    .flatMap(({ payload }) => new Payload(payload).items('contracts'))
    .map((contract) => contract.text('contract_address').toLowerCase());
  return new Set([...made, ...listed]);
}

/** The code that the newest snapshot with this contract gives it. */
export function listedCode(input: Input, chain: string, contract: AccountKey): string | null {
  const listed = snapshotsOf(input, 'contract_code')
    .filter((snapshot) => snapshot.chain === chain)
    .flatMap(({ payload }) => new Payload(payload).items('contracts'))
    .findLast((one) => one.text('contract_address').toLowerCase() === contract);
  return listed?.text('code_hash').toLowerCase() ?? null;
}

export function printActor(call: ContractCall | null, block: Block): string | null {
  return call?.actor ? printAccount(call.actor, block.chain) : null;
}
