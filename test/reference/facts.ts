import { type AccountKey, parseAccount, parseSigner } from './accounts.ts';
import { type Call, type Event, isNamed, type PlacedEvent, parseCall, parseEvent } from './calls.ts';
import { type Domain, domainOf } from './domain.ts';
import { type EthereumTransaction, readEthereumTransaction } from './ethereum.ts';
import { type Actor, actorOf, type ExecutedCall, executedCalls, UNKNOWN } from './executed.ts';
import { isArray, isObject, type Json, type JsonObject } from './json.ts';
import { parseAmount, parseIndex, sum } from './numbers.ts';
import type { Chain } from './registry.ts';
import { accountAt, amountAt, callRefusalReason, refusalReason } from './shapes.ts';

export type Extrinsic = {
  readonly index: number;
  readonly hash: string | null;
  readonly call: Call;
  readonly domain: Domain;
  readonly isSigned: boolean;
  readonly isEvm: boolean;
  /** Somebody authorised it and pays for it, but the block does not say who. */
  readonly isGeneral: boolean;
  readonly signer: AccountKey | null;
  readonly evmSender: AccountKey | null;
  readonly evmReceiver: AccountKey | null;
  /** What the payload of a revive transaction says. */
  readonly ethereum: EthereumTransaction | null;
  /** The event that ends it; null where it has none or several. */
  readonly outcome: PlacedEvent | null;
  /** Null without an outcome, or when the archive could not tell. */
  readonly success: boolean | null;
  /** In planck; null when nothing tells it. */
  readonly fee: bigint | null;
  /** Inherents without a fee event bear none; theirs is 0. */
  readonly bearsFee: boolean;
  readonly tip: bigint;
  /** The calls that ran, the top one and the nested ones. */
  readonly executed: readonly ExecutedCall[];
  readonly events: readonly PlacedEvent[];
  /** With those that are refused: each of them stands for its call too. */
  readonly everyEvent: readonly PlacedEvent[];
};

export type Block = {
  readonly chain: Chain;
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  /** Milliseconds since 1970; null for a block that carries no time. */
  readonly time: number | null;
  readonly extrinsics: readonly Extrinsic[];
  /** Whether every extrinsic has one outcome. */
  readonly isConsistent: boolean;
  readonly eventCount: number;
  /** The events in the order of the block, without those whose fields are refused. */
  readonly events: readonly PlacedEvent[];
};

/** A statement of a block that cannot be read. The block stays, the statement counts nowhere. */
export type RefusedFact = {
  readonly relay_chain: string;
  readonly chain: string;
  readonly block_number: number;
  readonly extrinsic_index: number | null;
  readonly event_index: number | null;
  readonly fact: string;
  readonly reason: string;
};

type Refuse = (
  where: Pick<RefusedFact, 'extrinsic_index' | 'event_index'>,
  fact: string,
  reason: string,
) => void;

/** A block whose `number`, `hash`, `parentHash` and lists have been checked to be there. */
export function readBlock(chain: Chain, height: number, payload: JsonObject): [Block, RefusedFact[]] {
  const refused: RefusedFact[] = [];
  const refuse: Refuse = (where, fact, reason) =>
    refused.push({
      relay_chain: chain.relay,
      chain: chain.name,
      block_number: height,
      ...where,
      fact,
      reason,
    });

  let eventCount = 0;
  const readEvents = (list: Json | undefined, phase: PlacedEvent['phase'], extrinsic: number | null = null) =>
    (isArray(list) ? list : []).map((value): PlacedEvent => {
      const event = { ...parseEvent(value), index: eventCount++, extrinsic, phase };
      const where = { extrinsic_index: extrinsic, event_index: event.index };
      const reason = refusalReason(event);
      if (reason !== null) refuse(where, `${event.pallet}.${event.method}`, reason);
      return event;
    });
  const readable = (events: readonly PlacedEvent[]) =>
    events.filter((event) => refusalReason(event) === null);

  // The events are numbered in the order in which the chain deposits them.
  const opening = readable(readEvents(phaseEvents(payload.onInitialize), 'onInitialize'));
  const raw = isArray(payload.extrinsics) ? payload.extrinsics.filter(isObject) : [];
  const withEvents = raw.map((fields, index) => {
    const everyEvent = readEvents(fields.events, 'extrinsic', index);
    return { fields, everyEvent, events: readable(everyEvent) };
  });
  const closing = readable(readEvents(phaseEvents(payload.onFinalize), 'onFinalize'));

  const author = parseAccount(payload.authorId);
  const extrinsics = withEvents.map(({ fields, events, everyEvent }, index) => ({
    ...readExtrinsic(index, fields, events, author, refuse),
    everyEvent,
  }));
  const block: Block = {
    chain,
    height,
    hash: String(payload.hash).toLowerCase(),
    parentHash: String(payload.parentHash).toLowerCase(),
    time: readTime(extrinsics, refuse),
    extrinsics,
    isConsistent: extrinsics.every(({ outcome }) => outcome !== null),
    eventCount,
    events: [...opening, ...withEvents.flatMap(({ events }) => events), ...closing],
  };
  return [block, refused];
}

function phaseEvents(phase: Json | undefined): Json | undefined {
  return isObject(phase) ? phase.events : undefined;
}

/** The position of the call that sets the time differs between chains, so it is searched. */
function readTime(extrinsics: readonly Extrinsic[], refuse: Refuse): number | null {
  const setter = extrinsics.find(({ call }) => isNamed(call, 'timestamp', 'set'));
  if (!setter) return null;
  const given = parseIndex(setter.call.args.now);
  const isTime = given !== null && given >= Date.UTC(2015, 0) && given < Date.UTC(2100, 0);
  const time = isTime ? given : null;
  if (time === null) {
    refuse({ extrinsic_index: setter.index, event_index: null }, 'timestamp.set', 'now is not a number');
  }
  return time;
}

function readExtrinsic(
  index: number,
  fields: JsonObject,
  events: readonly PlacedEvent[],
  author: AccountKey | null,
  refuse: Refuse,
): Omit<Extrinsic, 'everyEvent'> {
  const refuseHere = (fact: string, reason: string) =>
    refuse({ extrinsic_index: index, event_index: null }, fact, reason);
  const call = parseCall({ method: fields.method ?? null, args: fields.args ?? {} }) ?? {
    pallet: '',
    method: '',
    args: {},
  };
  const { signature = null, nonce = null } = fields;
  const isSigned = signature !== null;
  const isEvm =
    !isSigned && (isNamed(call, 'ethereum', 'transact') || isNamed(call, 'revive', 'ethTransact'));
  const isGeneral = !isSigned && !isEvm && nonce !== null;
  const signer = isObject(signature) ? parseSigner(signature.signer) : null;
  if (isSigned && signer === null) refuseHere('signer', 'not an account');

  const parties = isEvm ? readParties(call, events, refuseHere) : null;
  const outcomes = events.filter(isOutcome);
  const outcome = outcomes.length === 1 ? (outcomes[0] ?? null) : null;
  const success = outcome !== null && typeof fields.success === 'boolean' ? fields.success : null;
  const sender = signer ?? parties?.sender ?? null;
  const actor: Actor = sender === null && (isEvm || isGeneral) ? UNKNOWN : actorOf(sender);
  const executed = success === true ? executedCalls(call, events, actor) : [];
  for (const one of executed) {
    const reason = callRefusalReason(one);
    if (reason !== null) refuseHere(`${one.pallet}.${one.method}`, reason);
  }
  return {
    index,
    hash: typeof fields.hash === 'string' ? fields.hash : null,
    call,
    domain: domainOf(call),
    isSigned,
    isEvm,
    isGeneral,
    signer,
    evmSender: parties?.sender ?? null,
    evmReceiver: parties?.receiver ?? null,
    ethereum: parties !== null && 'hash' in parties ? parties : null,
    outcome,
    success: success && !isReverted(call, events),
    ...readFee(fields, { isSigned, isEvm, isGeneral }, events, author, refuseHere),
    tip: isSigned || isGeneral ? (readOptionalAmount(fields.tip, 'tip', refuseHere) ?? 0n) : 0n,
    executed,
    events,
  };
}

type RefuseHere = (fact: string, reason: string) => void;

function readOptionalAmount(value: Json | undefined, fact: string, refuse: RefuseHere): bigint | null {
  if (value === undefined || value === null) return null;
  const amount = parseAmount(value);
  if (amount === null) refuse(fact, 'not an amount');
  return amount;
}

/** Frontier names the parties in an event; revive leaves them in the signed payload. */
function readParties(call: Call, events: readonly Event[], refuse: RefuseHere) {
  if (call.pallet === 'ethereum') {
    const executed = events.find((event) => isNamed(event, 'ethereum', 'Executed'));
    return executed ? { sender: accountAt(executed, 0), receiver: accountAt(executed, 1) } : null;
  }
  try {
    return readEthereumTransaction(String(call.args.payload));
  } catch (error) {
    refuse('revive.ethTransact', error instanceof Error ? error.message : String(error));
    return null;
  }
}

/** An Ethereum transaction can fail inside an extrinsic that succeeds. */
function isReverted(call: Call, events: readonly Event[]): boolean {
  if (isNamed(call, 'ethereum', 'transact')) {
    const exit = events.find((event) => isNamed(event, 'ethereum', 'Executed'))?.data[3];
    return !(isObject(exit) && 'succeed' in exit);
  }
  const isEthereumCall = isNamed(call, 'revive', 'ethTransact');
  return isEthereumCall && events.some((event) => isNamed(event, 'revive', 'EthExtrinsicRevert'));
}

/** The event that each applied extrinsic ends with. */
export function isOutcome(event: Event): boolean {
  return isNamed(event, 'system', 'ExtrinsicSuccess', 'ExtrinsicFailed');
}

type Kind = Pick<Extrinsic, 'isSigned' | 'isEvm' | 'isGeneral'>;

/** The fee in planck, from the most direct statement that the archive has. */
function readFee(
  fields: JsonObject,
  { isSigned, isEvm, isGeneral }: Kind,
  events: readonly Event[],
  author: AccountKey | null,
  refuse: RefuseHere,
): Pick<Extrinsic, 'fee' | 'bearsFee'> {
  const paid = events.find((event) => isNamed(event, 'transactionPayment', 'TransactionFeePaid'));
  if (paid) return { fee: amountAt(paid, 1), bearsFee: true };

  const isPaidInAsset = events.some(
    ({ method }) => method.endsWith('FeePaid') && method !== 'TransactionFeePaid',
  );
  if (isPaidInAsset) return { fee: 0n, bearsFee: true };
  if (isEvm) return { fee: null, bearsFee: true };
  if (isGeneral) return { fee: fields.paysFee === false ? 0n : null, bearsFee: true };
  if (!isSigned) return { fee: 0n, bearsFee: false };
  return { fee: signedFee(fields, events, author, refuse), bearsFee: true };
}

/** The fee of a signed extrinsic that no event tells. */
function signedFee(
  fields: JsonObject,
  events: readonly Event[],
  author: AccountKey | null,
  refuse: RefuseHere,
): bigint | null {
  const info = isObject(fields.info) ? fields.info : {};
  const partialFee = readOptionalAmount(info.partialFee, 'partialFee', refuse);
  // Only the fee of the event includes the tip; estimates come without it.
  if (partialFee !== null) {
    return info.kind === 'fromEvent' ? partialFee : partialFee + (parseAmount(fields.tip) ?? 0n);
  }
  if (fields.paysFee === false) return 0n;

  // Before there was an event for it, the fee shows in its shares for treasury and block author.
  const shares = events.flatMap((event) => {
    if (isNamed(event, 'treasury', 'Deposit')) return [amountAt(event, 0)];
    const isForAuthor =
      author !== null && isNamed(event, 'balances', 'Deposit') && accountAt(event, 0) === author;
    return isForAuthor ? [amountAt(event, 1)] : [];
  });
  return shares.length > 0 ? sum(shares) : null;
}
