import { h160Of } from '../../../../ingest/chains/h160.ts';
import { parseAmount, parseWideAmount } from '../../../../ingest/decode/amount.ts';
import { ethereumHash, readEthereumFields } from '../../../../ingest/decode/ethereum.ts';
import { real, widePlanck } from '../../../columns.ts';
import { scaledDown } from '../../shared/amounts.ts';
import { asFields, parseNested } from '../../shared/facts.ts';
import type { ContractFact } from './contract-facts.ts';

/** A call of the contracts pallet, in one shape for native and Ethereum transactions. */
export interface ContractCall {
  readonly method: string;
  /** Key of the account on whose behalf it was executed; empty for root and for Ethereum transactions. */
  readonly actor: string;
  readonly from: string | null;
  /** The contract or account called; null for creations. */
  readonly target: string | null;
  readonly isEthereum: boolean;
  /** Its deploy method; null when it creates no contract. */
  readonly deploys: string | null;
  readonly value: CallValue;
  readonly gas_limit: string | null;
  readonly gas_price: string | null;
  readonly eth_hash: string | null;
  readonly code_hash: string | null;
  readonly storage_deposit_limit: string | null;
  readonly input_size: number | null;
  readonly selector: string | null;
}

interface CallValue {
  readonly native: number | null;
  readonly planck: bigint | null;
}
export const NO_VALUE: CallValue = { native: null, planck: null };

type CallFields = ContractFact['fields'];

/** Calls that call or create contracts. Other calls of the pallet upload code or map accounts. */
const CONTRACT_CALLS: ReadonlySet<string> = new Set([
  'call',
  'instantiate',
  'instantiateWithCode',
  'ethTransact',
  'ethCall',
  'ethInstantiateWithCode',
]);
export const isContractCall = (method: string): boolean => CONTRACT_CALLS.has(method);

/** Ways to create a contract; `internal` when another contract did. */
export const DEPLOY_METHODS = [
  'instantiate',
  'instantiate_with_code',
  'eth_instantiate_with_code',
  'eth_transact',
  'internal',
] as const;

/** Deploy methods by call. */
const DEPLOYS: Readonly<Record<string, string>> = {
  instantiate: 'instantiate',
  instantiateWithCode: 'instantiate_with_code',
  ethInstantiateWithCode: 'eth_instantiate_with_code',
};
/** Calls whose arguments are those of an Ethereum transaction. */
const ETHEREUM_CALLS = new Set(['ethCall', 'ethInstantiateWithCode']);
const WEI_DECIMALS = 18;

/** `sender` is the signer of an Ethereum transaction; empty for other extrinsics. */
export function readContractCall(
  method: string,
  actor: string,
  sender: string,
  fields: CallFields,
  decimals: number,
): ContractCall {
  const from = sender || (actor === '' ? null : h160Of(actor));
  const base = { method, actor: sender === '' ? actor : '', from };
  if (method === 'ethTransact') return { ...base, ...ofPayload(fields.payload, decimals) };
  const isEthereum = ETHEREUM_CALLS.has(method);
  return {
    ...base,
    target: h160(fields.dest),
    isEthereum,
    deploys: DEPLOYS[method] ?? null,
    value: isEthereum ? valueOfWei(fields.value, decimals) : valueOfPlanck(fields.value, decimals),
    gas_limit: unsigned256(refTimeOf(fields.weight_limit)),
    gas_price: isEthereum ? unsigned256(fields.gas_price) : null,
    eth_hash: isEthereum ? ethereumHash(fields.payload) : null,
    code_hash: /^0x[0-9a-f]{64}$/i.test(fields.code_hash ?? '')
      ? (fields.code_hash ?? '').toLowerCase()
      : null,
    storage_deposit_limit: parseAmount(fields.storage_deposit_limit)?.toString() ?? null,
    ...inputOf(fields),
  };
}

/** The fields of the signed transaction in a payload; null when it is malformed. */
function ofPayload(
  payload: string | undefined,
  decimals: number,
): Omit<ContractCall, 'method' | 'actor' | 'from'> {
  const transaction = tryRead(payload);
  return {
    target: transaction?.to ?? null,
    isEthereum: true,
    deploys: transaction !== null && transaction.to === null ? 'eth_transact' : null,
    value: valueOfWei(transaction?.value, decimals),
    gas_limit: unsigned256(transaction?.gas_limit),
    gas_price: unsigned256(transaction?.gas_price),
    eth_hash: ethereumHash(payload),
    code_hash: null,
    storage_deposit_limit: null,
    input_size: transaction?.input_size ?? null,
    selector: transaction?.selector ?? null,
  };
}

function tryRead(payload: string | undefined): ReturnType<typeof readEthereumFields> | null {
  try {
    return readEthereumFields(payload);
  } catch {
    return null; // the decoder of the block has recorded the refusal
  }
}

/** Facts have the first ten characters of the hex input, and its length. */
function inputOf({ input_start = '', input_chars = '0' }: CallFields) {
  if (!/^0x([0-9a-f]{2})*$/i.test(input_start)) return { input_size: null, selector: null };
  const input_size = (Number(input_chars) - 2) / 2;
  return { input_size, selector: input_size < 4 ? null : input_start.toLowerCase() };
}

function valueOfPlanck(amount: string | undefined, decimals: number): CallValue {
  const exact = parseAmount(amount);
  return exact === null ? NO_VALUE : { native: scaledDown(exact, decimals), planck: exact };
}

/** A wei is smaller than a planck, so only the native amount holds the rest. */
function valueOfWei(amount: string | undefined, decimals: number): CallValue {
  const wei = parseWideAmount(amount);
  if (wei === null) return NO_VALUE;
  return { native: scaledDown(wei, WEI_DECIMALS), planck: wei / 10n ** BigInt(WEI_DECIMALS - decimals) };
}

export const valueColumns = {
  value: real('value sent with the call, in native tokens: planck / 10^decimals, or wei / 10^18', {
    title: 'Value',
    unit: 'native',
    nullable: true,
  }),
  value_planck: widePlanck('`value` in planck; a value in wei is rounded down to whole planck', {
    title: 'Value in planck',
    nullable: true,
  }),
} as const;

export const valueFields = ({ native, planck: exact }: CallValue) => ({
  value: native,
  value_planck: exact?.toString() ?? null,
});

/** An integer of up to 64 bits as text; null for anything else. */
export function unsigned64(value: unknown): string | null {
  const integer = parseAmount(value);
  return integer !== null && integer < 1n << 64n ? integer.toString() : null;
}

/** The `ref_time` of a weight; in old runtimes the weight is that number. */
export const refTime = (weight: string | undefined): string | null => unsigned64(refTimeOf(weight));

function refTimeOf(weight: string | undefined): unknown {
  const { refTime: camel, ref_time = camel } = asFields(parseNested(weight));
  return ref_time ?? weight?.replaceAll('"', '');
}

const unsigned256 = (value: unknown): string | null => parseWideAmount(value)?.toString() ?? null;

export function h160(text: string | undefined): string | null {
  return text !== undefined && /^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : null;
}
