import { ProductError, reasonOf } from '../../../infra/errors.ts';
import { bytesOf, Cursor, Undecodable } from './cursor.ts';
import type { ExtrinsicEvents } from './events.ts';
import type { ExtrinsicTexts } from './extrinsics.ts';
import { authorText, logText, type NodeHeader } from './header.ts';
import type { NodeRuntime } from './runtime.ts';

/** A block as in the answers of a node. */
export interface RawBlock {
  readonly hash: string;
  readonly header: NodeHeader;
  /** Hex of each extrinsic, with its length prefix. */
  readonly extrinsics: readonly string[];
  /** The value of `System.Events` at the block. */
  readonly events: string | null;
  /** The value of `Session.Validators` at the block. */
  readonly validators: string | null;
  readonly finalized: boolean;
  /** Fees from `TransactionPaymentApi_query_info`, without tips, by the index of an extrinsic without a fee event. */
  readonly fees?: ReadonlyMap<number, string>;
}

interface DecodedLine {
  /** Parts of the JSON of Sidecar's `GET /blocks/{number}`. Joining a large text takes as long as writing it. */
  readonly texts: readonly string[];
  /** Calls that the runtime's metadata does not describe; the line has their bytes. */
  readonly undecodedCalls: number;
}

/** Throws if a part of the block is unknown or contradictory, because it must not be stored as complete. */
export function decodeBlock(runtime: NodeRuntime, block: RawBlock): DecodedLine {
  const number = Number(block.header.number);
  const attempt = <T>(part: string, read: () => T): T => {
    try {
      return read();
    } catch (error) {
      // V8 throws a RangeError for a string that is too long.
      if (!(error instanceof Undecodable || error instanceof RangeError)) throw error;
      throw new ProductError(
        'source_failed',
        `block ${number} cannot be decoded: ${part}: ${reasonOf(error)}`,
      );
    }
  };

  const events = attempt('its events', () => {
    const cursor = new Cursor(bytesOf(block.events ?? '0x00'));
    return cursor.readAll((at) => runtime.events.readBlock(at, block.extrinsics.length));
  });
  let undecodedCalls = 0;
  const extrinsics = block.extrinsics.map((hex, index) =>
    attempt(`extrinsic ${index}`, () => {
      const texts = runtime.extrinsics.read(bytesOf(hex));
      if (!texts.isDecoded) undecodedCalls += 1;
      const own = events.extrinsics[index] as ExtrinsicEvents;
      return [index === 0 ? '' : ',', ...extrinsicTexts(texts, own, block.fees?.get(index))];
    }),
  );
  const head = attempt('its header', () => headText(runtime, block));
  const texts = [
    `{"number":"${number}",${head},"onInitialize":{"events":[${events.onInitialize}]},"extrinsics":[`,
    ...extrinsics.flat(),
    `],"onFinalize":{"events":[${events.onFinalize}]},"finalized":${block.finalized}}`,
  ];
  return { texts, undecodedCalls };
}

function headText(runtime: NodeRuntime, { hash, header, validators }: RawBlock): string {
  const { parentHash, stateRoot, extrinsicsRoot, digest } = header;
  if (!Number.isSafeInteger(Number(header.number)))
    throw new Undecodable(`${header.number} is not a block number`);
  const hashes = JSON.stringify({ hash, parentHash, stateRoot, extrinsicsRoot }).slice(1, -1);
  const author = authorText(runtime, digest.logs, validators);
  const logs = digest.logs.map((log) => logText(runtime, log)).join(',');
  return `${hashes},${author === undefined ? '' : `"authorId":${author},`}"logs":[${logs}]`;
}

function extrinsicTexts(texts: ExtrinsicTexts, events: ExtrinsicEvents, fee: string | undefined): string[] {
  if (events.outcomes !== 1) throw new Undecodable(`its events have ${events.outcomes} outcomes, not 1`);
  const { kind, method, signature, nonce, args, tip, hash, era } = texts;
  const dispatchInfo = kind === 'bare' ? {} : JSON.parse(events.dispatchInfo ?? '{}');
  const paysFee = dispatchInfo.paysFee === 'Yes' || dispatchInfo.paysFee === true;
  const info = kind === 'signed' && paysFee ? feeInfo(dispatchInfo, events, fee) : '{}';
  return [
    `{"method":${method},"signature":${signature},"nonce":${nonce},"args":${args},"tip":${tip},"hash":"${hash}",`,
    `"info":${info},"era":${era},"events":[${events.text}],"success":${events.success},"paysFee":${paysFee}}`,
  ];
}

function feeInfo(
  { weight, class: kind }: DispatchInfo,
  { fee }: ExtrinsicEvents,
  requested: string | undefined,
) {
  const info = { weight, class: kind };
  if (fee !== undefined) return JSON.stringify({ ...info, partialFee: JSON.parse(fee), kind: 'fromEvent' });
  if (requested !== undefined) return JSON.stringify({ ...info, partialFee: requested, kind: 'preDispatch' });
  return NO_FEE;
}

/** Stands for a fee that is in no event and was not requested yet. */
export const NO_FEE = '{"error":"no event tells the fee"}';

interface DispatchInfo {
  readonly weight: unknown;
  readonly class: unknown;
}
