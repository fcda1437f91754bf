import { asFields, parseNested } from '../../shared/facts.ts';
import {
  type ContractCall,
  h160,
  isContractCall,
  readContractCall,
  refTime,
  unsigned64,
} from './contract-calls.ts';
import type { ContractFact } from './contract-facts.ts';

/** A created contract and the call that created it; `by` is null when another contract created it. */
interface CreatedContract {
  readonly contract: string;
  readonly deployer: string;
  readonly event_index: number;
  readonly by: ContractCall | null;
}

/** An extrinsic with contract calls or events, or the events of a block outside of extrinsics. */
export interface ContractExtrinsic {
  readonly chain: string;
  readonly prefix: number;
  readonly decimals: number;
  readonly number: number;
  /** Order in the block: 0 for the initialization, from 1 on for extrinsics, the highest for the finalization. */
  readonly place: number;
  readonly extrinsic_index: number | null;
  readonly time: string;
  readonly hash: string | null;
  readonly fee: bigint | null;
  /** True if its calls were executed, even if an Ethereum transaction reverted afterwards. */
  readonly ran: boolean;
  /** Null when the source does not have it. */
  readonly success: boolean | null;
  readonly error: string | null;
  readonly weight_ref_time: string | null;
  readonly weight_proof_size: string | null;
  /** Executed calls in order; for a failed extrinsic, its outer call. */
  readonly calls: readonly ContractCall[];
  readonly created: readonly CreatedContract[];
  /** Number of events by the contract that emitted them. */
  readonly emitted: ReadonlyMap<string, number>;
}

export function contractExtrinsics(facts: readonly ContractFact[]): ContractExtrinsic[] {
  return [...groupByPlace(facts)].map(readExtrinsic);
}

/** Groups the facts of one extrinsic, initialization or finalization. Facts are sorted by block and place. */
function* groupByPlace(facts: readonly ContractFact[]): Generator<ContractFact[]> {
  let start = 0;
  for (let end = 1; end <= facts.length; end++) {
    const [a, b] = [facts[start] as ContractFact, facts[end]];
    if (b && a.chain === b.chain && a.number === b.number && a.place === b.place) continue;
    yield facts.slice(start, end);
    start = end;
  }
}

function readExtrinsic(facts: readonly ContractFact[]): ContractExtrinsic {
  const [{ chain, prefix, decimals, number, place, extrinsic_index, time }] = facts as [ContractFact];
  const extrinsic = facts.find(({ kind }) => kind === 'extrinsic');
  const results = facts.filter(({ kind }) => kind === 'result');
  const result = results.length === 1 ? results[0] : undefined;
  const calls = callsOf(facts, extrinsic);
  // Only Ethereum transactions can be reverted.
  const isOfEthereum = calls.some(({ isEthereum }) => isEthereum);
  const reverted = isOfEthereum ? eventsOf(facts, 'EthExtrinsicRevert')[0] : undefined;
  const { hash = '', fee = '', succeeded = '' } = extrinsic?.fields ?? {};
  return {
    chain,
    prefix,
    decimals,
    number,
    place,
    extrinsic_index,
    time,
    hash: hash || null,
    fee: fee === '' ? null : BigInt(fee),
    ran: extrinsic?.fields.success === '1',
    success: succeeded === '' ? null : succeeded === '1' && reverted === undefined,
    error: result?.fields.error ?? reverted?.fields.error ?? null,
    ...weightOf(result),
    calls,
    created: createdBy(eventsOf(facts, 'Instantiated'), calls),
    emitted: emittedIn(facts),
  };
}

const eventsOf = (facts: readonly ContractFact[], event: string) =>
  facts.filter(({ kind, name }) => kind === 'event' && name === event);

function callsOf(facts: readonly ContractFact[], extrinsic: ContractFact | undefined): ContractCall[] {
  const sender = extrinsic?.counterparty ?? '';
  const executed = facts.filter(({ kind, name }) => kind === 'call' && isContractCall(name));
  const [pallet, call = ''] = (extrinsic?.name ?? '').split('.');
  if (extrinsic !== undefined && pallet === 'revive' && extrinsic.fields.success !== '1') {
    const { account, fields, decimals } = extrinsic;
    return isContractCall(call) ? [readContractCall(call, account, sender, fields, decimals)] : [];
  }
  return executed.map(({ name, at, account, fields, decimals }) =>
    // Position 0 is the extrinsic itself; only it can be an Ethereum transaction.
    readContractCall(name, account, at === 0 ? sender : '', fields, decimals),
  );
}

/** A creation belongs to the next deploying call if its deployer is the account of that call. */
function createdBy(instantiated: readonly ContractFact[], calls: readonly ContractCall[]): CreatedContract[] {
  const deploying = calls.filter(({ deploys }) => deploys !== null);
  let next = 0;
  return instantiated.flatMap(({ account, counterparty, at }) => {
    const [deployer, contract] = [h160(account), h160(counterparty)];
    if (deployer === null || contract === null) return [];
    const isByCall = deploying[next]?.from === deployer;
    const by = isByCall ? (deploying[next] as ContractCall) : null;
    if (isByCall) next++;
    return [{ contract, deployer, event_index: at, by }];
  });
}

function emittedIn(facts: readonly ContractFact[]): Map<string, number> {
  const emitted = new Map<string, number>();
  for (const { account } of eventsOf(facts, 'ContractEmitted')) {
    const contract = h160(account);
    if (contract !== null) emitted.set(contract, (emitted.get(contract) ?? 0) + 1);
  }
  return emitted;
}

/** The weight in the dispatch info; old runtimes have one number. */
function weightOf(result: ContractFact | undefined) {
  const { weight } = asFields(parseNested(result?.fields.info));
  const { proofSize, proof_size = proofSize } = asFields(weight);
  const text = typeof weight === 'object' ? JSON.stringify(weight) : String(weight ?? '');
  return { weight_ref_time: refTime(text), weight_proof_size: unsigned64(proof_size) };
}
