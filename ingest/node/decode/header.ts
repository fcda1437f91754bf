import { bytesOf, Cursor, Undecodable } from './cursor.ts';
import type { NodeRuntime } from './runtime.ts';

/** A header as in the JSON of a node. */
export interface NodeHeader {
  readonly parentHash: string;
  readonly number: string;
  readonly stateRoot: string;
  readonly extrinsicsRoot: string;
  readonly digest: { readonly logs: readonly string[] };
}

/** Decodes a header in SCALE, as `archive_v1_header` returns it. */
export function headerOfScale(scale: string): NodeHeader {
  const cursor = new Cursor(bytesOf(scale));
  const hash = () => hexFrom(cursor, cursor.advance(HASH_BYTES));
  return cursor.readAll(() => ({
    parentHash: hash(),
    number: `0x${cursor.length().toString(16)}`,
    stateRoot: hash(),
    extrinsicsRoot: hash(),
    digest: { logs: Array.from({ length: Math.min(cursor.length(), cursor.end) }, () => readLog(cursor)) },
  }));
}

const HASH_BYTES = 32;
const OTHER = 0;
const CONSENSUS = 4;
const PRE_RUNTIME = 6;
const RUNTIME_ENVIRONMENT_UPDATED = 8;

/** Reads a log as hex. Throws for kinds that no runtime writes any more. */
function readLog(cursor: Cursor): string {
  const from = cursor.at;
  const kind = cursor.byte();
  const hasEngine = kind >= CONSENSUS && kind <= PRE_RUNTIME;
  if (!hasEngine && kind !== OTHER && kind !== RUNTIME_ENVIRONMENT_UPDATED)
    throw new Undecodable(`a log of kind ${kind}`);
  if (hasEngine) cursor.advance(4);
  if (kind !== RUNTIME_ENVIRONMENT_UPDATED) cursor.advance(cursor.length());
  return hexFrom(cursor, from);
}

const hexFrom = ({ bytes, at }: Cursor, from: number) => `0x${bytes.toString('hex', from, at)}`;

type LogReader = (cursor: Cursor, runtime: NodeRuntime) => string;

const engineAndData: LogReader = (cursor) => `[${cursor.hex(4)},${cursor.hex(cursor.length())}]`;

/** Kinds of logs by their index. Runtimes no longer write 1, 2, 3 and 7. */
const LOGS: readonly (readonly [type: string, read: LogReader])[] = [
  ['Other', (cursor) => cursor.hex(cursor.length())],
  ['AuthoritiesChange', authorities],
  ['ChangesTrieRoot', (cursor) => cursor.hex(32)],
  ['SealV0', (cursor) => `[${cursor.unsigned(8)},${cursor.hex(64)}]`],
  ['Consensus', engineAndData],
  ['Seal', engineAndData],
  ['PreRuntime', engineAndData],
  ['ChangesTrieSignal', changesTrieSignal],
  ['RuntimeEnvironmentUpdated', () => 'null'],
];

export function logText(runtime: NodeRuntime, log: string): string {
  const cursor = new Cursor(bytesOf(log));
  const index = cursor.byte();
  const [type, read] = LOGS[index] ?? [];
  if (read === undefined) throw new Undecodable(`a log of kind ${index}`);
  const value = cursor.readAll((at) => read(at, runtime));
  return `{"type":"${type}","index":"${index}","value":${value}}`;
}

function authorities(cursor: Cursor, { types }: NodeRuntime): string {
  const accounts = Array.from({ length: Math.min(cursor.length(), cursor.end) }, () =>
    types.accounts.account32(cursor),
  );
  return `[${accounts.join(',')}]`;
}

function changesTrieSignal(cursor: Cursor): string {
  if (cursor.byte() !== 0) throw new Undecodable('an unknown signal');
  if (cursor.byte() === 0) return '{"newConfiguration":null}';
  return `{"newConfiguration":{"digestInterval":${cursor.unsigned(4)},"digestLevels":${cursor.unsigned(4)}}}`;
}

/** Hex digits after `0x` that any count fits into. */
const COUNT_DIGITS = 10;

/** JSON of the block's author; undefined if no log names one, or if its index is beyond the validators. */
export function authorText(runtime: NodeRuntime, logs: readonly string[], validators: string | null) {
  for (const log of logs) {
    const cursor = new Cursor(bytesOf(log));
    if (cursor.byte() !== PRE_RUNTIME) continue;
    const engine = cursor.bytes.toString('latin1', cursor.advance(4), cursor.at);
    const data = cursor.part(cursor.length());
    if (engine === 'nmbs' || engine === 'pow_') return accountText(runtime, data);
    if (engine !== 'BABE' && engine !== 'aura') continue;
    if (validators === null) return undefined;
    // BABE has the author's index after the kind of claim. Aura has the slot, and validators take turns by slot.
    if (engine === 'aura') return validatorText(runtime, validators, data.unsigned(8));
    data.advance(1);
    return validatorText(runtime, validators, data.u32());
  }
  return undefined;
}

/** Prints the account in a log. For a longer key Sidecar prints the beginning. The log may hold no account at all. */
function accountText({ extrinsics }: NodeRuntime, data: Cursor): string | undefined {
  try {
    return extrinsics.readAccount(data);
  } catch (error) {
    if (error instanceof Undecodable) return undefined;
    throw error;
  }
}

/** Decodes one validator only, because a relay chain has hundreds. */
function validatorText(runtime: NodeRuntime, validators: string, turn: number | string): string | undefined {
  const list = new Cursor(bytesOf(validators.slice(0, 2 + COUNT_DIGITS)));
  const count = list.length();
  const place = typeof turn === 'number' ? turn : count && Number(BigInt(JSON.parse(turn)) % BigInt(count));
  if (place >= count) return undefined;
  const digits = validators.length - 2 - list.at * 2;
  const from = 2 + list.at * 2 + (digits / count) * place;
  return runtime.readValidator(new Cursor(bytesOf(`0x${validators.slice(from, from + digits / count)}`)));
}
