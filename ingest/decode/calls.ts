import { keyOfSigner } from '../chains/address.ts';
import { outcomesOf } from './completeness.ts';
import { type CallTree, type Domain, domainOf, isWrapper } from './domain.ts';
import { type EthereumTransaction, readEthereumTransaction } from './ethereum.ts';
import { eventsOf, ReverseEventReader } from './events.ts';
import { asRecord, type CallName, callName } from './names.ts';
import { countUnreadCalls, executedCalls, NO_ACCOUNT, nestedCalls } from './wrappers.ts';

// Finds the nested calls that a block executed, and their actors. A block lists the results of top-level calls only; the
// results of nested calls follow from the tree of calls and the events.

/** `path` counts positions from the extrinsic down: `0.2` is the third call of a batch in a proxy. */
type NestedCall = { path: string; pallet: string; call: string; actor: string | null; args: Args };
type RefusedCall = { extrinsic_index: number | null; reason: string; raw: string };

/** An executed call whose arguments contain calls, but for which no rule says whether they ran. */
type UnknownWrapper = Pick<NestedCall, 'path' | 'pallet' | 'call'> & { calls: number };

type DecodedExtrinsic = {
  calls: NestedCall[];
  unknown: UnknownWrapper[];
  topLevelActor: string | null;
};
export type DecodedBlock = {
  calls: (NestedCall & { extrinsic_index: number })[];
  unknown: (UnknownWrapper & { extrinsic_index: number })[];
  /** Domains of wrapper extrinsics. For all others SQL derives the domain from the name. */
  domains: { extrinsic_index: number; domain: Domain }[];
  ethereum: (EthereumTransaction & { extrinsic_index: number })[];
  refused: RefusedCall[];
};

/** Runtimes reject deeper nesting. */
const DEPTH_MAX = 256;

type Args = Record<string, unknown>;
type ReadCall = CallName & { args: Args };

export function decodeBlock(block: unknown): DecodedBlock {
  const extrinsics = asRecord(block)?.extrinsics;
  if (Array.isArray(extrinsics)) return decodeExtrinsics(extrinsics.entries());
  return {
    ...nothingDecoded(),
    refused: [refusal(null, 'extrinsics: not a list', extrinsics)],
  };
}

const nothingDecoded = (): DecodedBlock => ({
  calls: [],
  unknown: [],
  domains: [],
  ethereum: [],
  refused: [],
});

/** Decodes extrinsics by their positions in a block; the caller omits those without nested calls. */
export function decodeExtrinsics(extrinsics: Iterable<readonly [number, unknown]>): DecodedBlock {
  const decoded = nothingDecoded();
  for (const [extrinsic_index, extrinsic] of extrinsics) {
    try {
      addExtrinsic(decoded, extrinsic_index, extrinsic);
    } catch (error) {
      // An undecodable extrinsic must not hide the others of its block.
      decoded.refused.push(refusal(extrinsic_index, messageOf(error), extrinsic));
    }
  }
  return decoded;
}

function addExtrinsic(decoded: DecodedBlock, extrinsic_index: number, extrinsic: unknown): void {
  const call = readCall(extrinsic);
  if (call === null) throw new Error('method: neither {pallet, method} nor "pallet.method"');
  if (isWrapper(call.pallet, call.call)) {
    decoded.domains.push({ extrinsic_index, domain: domainOf(call.pallet, call.call, treesInside(call)) });
  }
  // With no outcome event, or with several, it is unknown whether the extrinsic ran.
  if (outcomesOf(extrinsic) === 1) {
    const { calls, unknown } = decodeExtrinsic(extrinsic);
    for (const nested of calls) decoded.calls.push({ ...nested, extrinsic_index });
    for (const wrapper of unknown) decoded.unknown.push({ ...wrapper, extrinsic_index });
  }
  if (call.pallet === 'revive' && call.call === 'ethTransact') {
    decoded.ethereum.push({ extrinsic_index, ...readEthereumTransaction(call.args.payload) });
  }
}

/** The executed calls inside one extrinsic, in the order of the tree. A failed extrinsic executed none. */
export function decodeExtrinsic(extrinsic: unknown): DecodedExtrinsic {
  const fields = asRecord(extrinsic) ?? {};
  const call = readCall(extrinsic);
  const topLevelActor = keyOfSigner(asRecord(fields.signature)?.signer);
  if (call === null || fields.success !== true) return { calls: [], unknown: [], topLevelActor };
  const calls = executedInside(call, topLevelActor, '', new ReverseEventReader(eventsOf(fields)), 1);
  const unknown = [{ path: '', ...call }, ...calls].flatMap(({ path, pallet, call, args }) => {
    const unread = countUnreadCalls({ pallet, call }, args);
    return unread === 0 ? [] : [{ path, pallet, call, calls: unread }];
  });
  return { calls, unknown, topLevelActor };
}

function executedInside(
  call: ReadCall,
  actor: string | null,
  path: string,
  events: ReverseEventReader,
  depth: number,
) {
  checkDepth(depth);
  const siblings: NestedCall[][] = [];
  for (const ran of executedCalls(call, call.args, actor, events)) {
    const nested = readCall(ran.call);
    if (nested === null) continue; // opaque bytes, which the source could not decode
    const at = path === '' ? `${ran.index}` : `${path}.${ran.index}`;
    const inside = executedInside(nested, ran.actor, at, events, depth + 1);
    const hasAccount = ran.actor !== NO_ACCOUNT;
    // A vote by root has no voter. It must not count as a vote of an unknown account.
    const isVote = nested.pallet === 'convictionVoting';
    const own = { path: at, ...nested, actor: hasAccount ? ran.actor : null };
    siblings.push(isVote && !hasAccount ? inside : [own, ...inside]);
  }
  return siblings.reverse().flat();
}

function treesInside(call: ReadCall, depth = 1): CallTree[] {
  checkDepth(depth);
  return nestedCalls(call, call.args).map((inner) => {
    const nested = readCall(inner);
    if (nested === null) return { pallet: '', call: '', inner: [] };
    return { pallet: nested.pallet, call: nested.call, inner: treesInside(nested, depth + 1) };
  });
}

function checkDepth(depth: number): void {
  if (depth > DEPTH_MAX) throw new Error(`calls nested deeper than ${DEPTH_MAX}`);
}

function readCall(value: unknown): ReadCall | null {
  const { method, args } = asRecord(value) ?? {};
  const name = callName(method);
  return name && { ...name, args: asRecord(args) ?? {} };
}

function refusal(extrinsic_index: number | null, reason: string, raw: unknown): RefusedCall {
  return { extrinsic_index, reason, raw: textOf(raw) };
}

/** The JSON of a value, or the error if it is nested too deeply. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    return `(${messageOf(error)})`;
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
